import { isLoopback, SignalboxError } from '@signalbox/protocol';

/** Throws `auth_failed` for an address to which no secret may be sent: only https will do, or http on this machine. */
export function checkSecure(url: string | URL): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname))) return;
  throw new SignalboxError(
    'auth_failed',
    `the authorization server has an address at '${hostname}' without encryption: only https will do, or http on this machine`,
  );
}

/** Makes a `fetch` for OAuth endpoints, which refuses the addresses that {@link checkSecure} refuses. */
export function secureFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    checkSecure(input instanceof Request ? input.url : input);
    return send(input, init);
  };
}

function isThisMachine(hostname: string): boolean {
  return isLoopback(hostname) || hostname.endsWith('.localhost');
}
