import type { IncomingHttpHeaders } from 'node:http';

/** The reason why a request is refused before anybody looks at its session. */
export interface RequestRefusal {
  status: number;
  code: string;
  message: string;
}

/** What is checked of a request. */
export interface CheckedRequest {
  method?: string | undefined;
  headers: IncomingHttpHeaders;
}

/**
 * Checks that a request comes from the page itself: by a host that the broker is known by, and, if it changes something, from a page of
 * one of `origins`.
 */
export function refuseRequest(
  { method = 'GET', headers }: CheckedRequest,
  origins: readonly string[],
): RequestRefusal | undefined {
  const hosts = new Set(origins.map((origin) => new URL(origin).host));
  const { host = '', origin } = headers;
  if (!hosts.has(host.toLowerCase()) && !isOwnLoopback(host, origins)) {
    const message = `the dashboard is not served under this host; broker.trustedOrigins names more`;
    return { status: 403, code: 'forbidden_host', message };
  }
  const site = headers['sec-fetch-site'];
  const isRead = method === 'GET' || method === 'HEAD';
  if (site !== undefined && site !== 'same-origin' && !(isRead && isNavigation(headers)))
    return foreign('only the page of the dashboard may ask for this');
  if (isRead) return undefined;
  if (origin === undefined || hostOf(origin) !== host.toLowerCase())
    return foreign('a request that changes something must come from the page of the dashboard');
  return undefined;
}

function foreign(message: string): RequestRefusal {
  return { status: 403, code: 'forbidden_origin', message };
}

/** A person may follow a link from anywhere to the page. */
function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host;
}

/** A browser may name this machine `localhost` where the broker says 127.0.0.1. */
function isOwnLoopback(host: string, origins: readonly string[]): boolean {
  const match = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/.exec(host.toLowerCase());
  return match !== null && origins.some((origin) => new URL(origin).port === (match[1] ?? ''));
}
