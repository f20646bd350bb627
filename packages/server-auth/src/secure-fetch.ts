import { SignalboxError } from '@signalbox/protocol';

/** Secrets travel to https addresses, and to this machine itself. Throws `auth_failed` for any other. */
export function checkSecure(url: string | URL): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return;
  throw new SignalboxError(
    'auth_failed',
    `the authorization server has an address at '${hostname}' without encryption: only https will do, or http on this machine`,
  );
}

/** A `fetch` for OAuth endpoints, which refuses what {@link checkSecure} refuses. */
export function secureFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    checkSecure(input instanceof Request ? input.url : input);
    return send(input, init);
  };
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
