import type { IncomingHttpHeaders } from 'node:http';
import type { HttpRefusal } from '../sdk/http-refusal.ts';

/** The parts of a request that are checked before its body is read. */
export interface RequestHead {
  method?: string | undefined;
  /** Path and query. */
  url?: string | undefined;
  headers: IncomingHttpHeaders;
}

/**
 * Checks the host and the origin of a request; returns the reason why it is refused, or `undefined`. `hosts` are the names that `Host` and
 * `Origin` may have, without port, IPv6 addresses in brackets: a page in a browser must not reach a face on this machine, not even by a
 * name that was rebound to it.
 */
export function refuseHost({ headers }: RequestHead, hosts: ReadonlySet<string>): HttpRefusal | undefined {
  if (!namesFace(headers.host ?? '', hosts)) {
    return {
      status: 403,
      message: `the Host header must name this face (${[...hosts].join(', ')}); allow other names with broker.trustedOrigins, or with --allow-host of worker mcp`,
    };
  }
  if (headers.origin !== undefined && !isOwnOrigin(headers.origin, hosts)) {
    return { status: 403, message: 'requests from web pages of this origin are refused' };
  }
  return undefined;
}

/** Returns the path of a request, without its query. */
export function pathOf({ url = '' }: RequestHead): string {
  return url.split('?', 1)[0] ?? '';
}

/** The largest body that is read, and the rule for its `Content-Type`. */
export interface ContentRules {
  maxBodyBytes: number;
  isJson: (contentType: string | null) => boolean;
}

/** Checks whether the body of a request may be read. Returns the reason if it may not, or `undefined`. */
export function refuseContent(
  { method, headers }: RequestHead,
  { maxBodyBytes, isJson }: ContentRules,
): HttpRefusal | undefined {
  if (method !== 'POST') return undefined;
  if (!isJson(headers['content-type'] ?? null)) {
    return { status: 415, message: 'the Content-Type header must be application/json' };
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    return { status: 415, message: 'the body must not be compressed: leave Content-Encoding out' };
  }
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? bodyTooLarge(maxBodyBytes) : undefined;
}

/** Refuses a body over the limit. */
export function bodyTooLarge(maxBodyBytes: number): HttpRefusal {
  return {
    status: 413,
    message: `a request may have at most ${maxBodyBytes} bytes; send less at once, or raise worker.limits.bodyBytes`,
  };
}

function namesFace(header: string, hosts: ReadonlySet<string>): boolean {
  // Most clients write a name of the set unchanged, so that nothing has to be parsed as a URL.
  if (hosts.has(header.replace(/:\d{1,5}$/, ''))) return true;
  const host = hostNameOf(`http://${header}`);
  return host !== undefined && hosts.has(host);
}

function isOwnOrigin(origin: string, hosts: ReadonlySet<string>): boolean {
  const host = /^https?:/.test(origin) ? hostNameOf(origin) : undefined;
  return host !== undefined && hosts.has(host);
}

function hostNameOf(url: string): string | undefined {
  return URL.parse(url)?.hostname || undefined;
}
