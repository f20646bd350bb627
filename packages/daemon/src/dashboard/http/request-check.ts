import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { loopbackNames } from '@signalbox/protocol/internal';
import { boundedText } from '@signalbox/serving';

/** The reason why a request is refused before its sign-in is checked. */
export interface RequestRefusal {
  code: 'forbidden_host' | 'forbidden_origin';
  message: string;
}

/** The parts of a request that are checked. */
export interface CheckedRequest {
  method?: string | undefined;
  headers: IncomingHttpHeaders;
}

/**
 * Checks that a request comes from the page itself: it must name a host that the broker is known by. A request that changes something must
 * also come from the page at that host, with the scheme of one of `origins`.
 */
export function refuseRequest(
  { method = 'GET', headers }: CheckedRequest,
  origins: readonly string[],
): RequestRefusal | undefined {
  const { host = '', origin } = headers;
  const pages = origins.flatMap((known) => pageOrigin(host.toLowerCase(), new URL(known)) ?? []);
  if (pages.length === 0) {
    const message = 'the dashboard is not served under this host; broker.trustedOrigins names more';
    return { code: 'forbidden_host', message };
  }
  const site = headers['sec-fetch-site'];
  const isRead = method === 'GET' || method === 'HEAD';
  if (site !== undefined && site !== 'same-origin' && !(isRead && isNavigation(headers)))
    return foreign('only the page of the dashboard may ask for this');
  if (isRead) return undefined;
  if (origin === undefined || !pages.includes(origin.toLowerCase()))
    return foreign('a request that changes something must come from the page of the dashboard');
  return undefined;
}

function foreign(message: string): RequestRefusal {
  return { code: 'forbidden_origin', message };
}

/** A person may follow a link from anywhere to the page. */
function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

/** Returns the origin of the page that a request with this host was sent to, if a known origin means that. */
function pageOrigin(host: string, known: URL): string | undefined {
  return host === known.host || isOwnLoopback(host, known.port) ? `${known.protocol}//${host}` : undefined;
}

/** A browser may name this machine `localhost` where the broker says 127.0.0.1. */
function isOwnLoopback(host: string, port: string): boolean {
  const [, name = '', ownPort = ''] = /^(.+?)(?::(\d+))?$/.exec(host) ?? [];
  return loopbackNames.includes(name) && port === ownPort;
}

/** The most bytes that a request may bring. */
const maxBytes = 256 * 1024;

/** Reads the body of a request as JSON. Rejects with `bad_request` or `message_too_large`. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(;|$)/i.test(type))
    throw new SignalboxError('bad_request', 'the body must be JSON: Content-Type: application/json');
  const { text, isWhole } = await boundedText(request, maxBytes);
  if (!isWhole) throw new SignalboxError('message_too_large', `the body may have at most ${maxBytes} bytes`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SignalboxError('bad_request', `the body is no JSON: ${messageOf(error)}`);
  }
}
