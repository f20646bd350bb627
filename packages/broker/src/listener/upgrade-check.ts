import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback, subprotocol } from '@signalbox/protocol';
import { loopbackNames } from '@signalbox/protocol/internal';

/** The reason why an HTTP upgrade is refused. */
export interface UpgradeRefusal {
  /** The status of the HTTP response, with its phrase. */
  status: string;
  code: 'forbidden_origin' | 'forbidden_host' | 'bad_subprotocol' | 'not_found';
  message: string;
}

/**
 * Checks the path and the headers of an HTTP upgrade. Browsers send `Origin`, and other clients do not. A page of another site must not
 * reach a broker on this machine, not even by a host name that was rebound to it.
 */
export function refuseUpgrade(
  { url = '/', headers }: { url?: string | undefined; headers: IncomingHttpHeaders },
  server: Reached,
): UpgradeRefusal | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const foreign = refuseForeign(headers, server);
  if (foreign) return foreign;
  if (!/^\/(\?|$)/.test(url)) {
    const message = 'WebSockets are served at / alone';
    return { status: '404 Not Found', code: 'not_found', message };
  }
  if (!offered.includes(subprotocol)) {
    return {
      status: '400 Bad Request',
      code: 'bad_subprotocol',
      message: `offer the WebSocket subprotocol ${subprotocol}`,
    };
  }
  return undefined;
}

/** The addresses of a listener: its host and port, and the origins that its operator trusts. */
interface Reached {
  host: string;
  port: number;
  trustedOrigins?: readonly string[];
}

/** Checks whether a request comes from a page of another site. */
export function refuseOrigin(
  { origin }: IncomingHttpHeaders,
  { port, trustedOrigins = [] }: Reached,
): UpgradeRefusal | undefined {
  if (origin === undefined || trustedOrigins.includes(origin) || isOwnOrigin(origin, port)) return undefined;
  return {
    status: '403 Forbidden',
    code: 'forbidden_origin',
    message: 'connections from web pages of this origin are refused; broker.trustedOrigins allows more',
  };
}

/** Checks whether a request comes from a page of another site, or names a host that is not this machine. */
export function refuseForeign(headers: IncomingHttpHeaders, server: Reached): UpgradeRefusal | undefined {
  const { host } = headers;
  const { trustedOrigins = [] } = server;
  const foreign = refuseOrigin(headers, server);
  if (foreign) return foreign;
  // Only clients of HTTP/1.0 omit it, and no browser is one.
  if (isLoopback(server.host) && host !== undefined && !isOwnHost(host, trustedOrigins)) {
    return {
      status: '403 Forbidden',
      code: 'forbidden_host',
      message:
        'the Host header must name this machine; behind a proxy, broker.trustedOrigins names the address that clients use',
    };
  }
  return undefined;
}

function isOwnOrigin(origin: string, port: number): boolean {
  const url = URL.parse(origin);
  if (!url || !/^https?:$/.test(url.protocol)) return false;
  return loopbackNames.includes(url.hostname) && url.port === String(port);
}

function isOwnHost(host: string, trustedOrigins: readonly string[]): boolean {
  if (loopbackNames.includes(hostName(host))) return true;
  return trustedOrigins.some((origin) => URL.parse(origin)?.host === host.toLowerCase());
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '');
}
