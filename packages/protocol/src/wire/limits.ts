/** The broker's limits as told in `welcome.limits`. Bytes, counts and per-second rates. */
export interface Limits {
  maxConnections: number;
  maxUnauthenticated: number;
  maxMessageBytes: number;
  maxFrameBytes: number;
  deliverPerSecond: number;
  deliverBurst: number;
  maxInboxMessages: number;
  maxInboxBytes: number;
  maxPendingPerSender: number;
  maxTotalBytes: number;
  maxTtlMs: number;
  liveLaneMessages: number;
}

const MiB = 1024 * 1024;
const day = 24 * 60 * 60 * 1000;

/** Defaults of the protocol, section 5. */
export const defaultLimits: Limits = {
  maxConnections: 4096,
  maxUnauthenticated: 256,
  maxMessageBytes: 4 * MiB,
  maxFrameBytes: 4 * MiB + 64 * 1024,
  deliverPerSecond: 2000,
  deliverBurst: 4000,
  maxInboxMessages: 50_000,
  maxInboxBytes: 256 * MiB,
  maxPendingPerSender: 1000,
  maxTotalBytes: 8 * 1024 * MiB,
  maxTtlMs: 30 * day,
  liveLaneMessages: 256,
};

/** Lifetime of a message whose sender named none: 7 days, in milliseconds. */
export const defaultTtlMs = 7 * day;

/** The WebSocket subprotocol and the number in `hello.protocol`. */
export const subprotocol = 'signalbox.v1';
export const protocolVersion = 1;
