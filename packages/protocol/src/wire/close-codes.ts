/** The WebSocket close codes that the broker uses. `reconnect` tells whether a client should come back by itself. */
export const closeCodes = {
  1000: { name: 'normal', reconnect: false },
  1001: { name: 'going_away', reconnect: true },
  1009: { name: 'message_too_large', reconnect: true },
  1011: { name: 'internal', reconnect: true },
  4400: { name: 'bad_hello', reconnect: false },
  4401: { name: 'unauthorized', reconnect: false },
  4403: { name: 'forged_sender', reconnect: false },
  4406: { name: 'unsupported_protocol', reconnect: false },
  4408: { name: 'hello_timeout', reconnect: true },
  4410: { name: 'heartbeat_missed', reconnect: true },
  4429: { name: 'slow_consumer', reconnect: true },
  4430: { name: 'too_many_connections', reconnect: true },
  4431: { name: 'token_unchecked', reconnect: true },
} as const satisfies Record<number, { name: string; reconnect: boolean }>;

/** A WebSocket close code of {@link closeCodes}. */
export type CloseCode = keyof typeof closeCodes;
