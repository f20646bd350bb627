import { isJsonObject, isLoopback, messageOf, SignalboxError } from '@signalbox/protocol';
import { plainLine } from '../../runner/output/output-tail.ts';
import { PeerError, type PeerErrorKind } from './peer.ts';

/** The options of {@link peerFetch}. */
export interface PeerFetchOptions {
  /** Sends one request, without following a redirect. It bounds the body of the answer. */
  fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** The origins to which requests may go. */
  origins: readonly string[];
  /** Returns the token, which those origins get. */
  token: (() => string) | undefined;
}

/** The longest line of a stream, in bytes. */
const maxLineBytes = 256 * 1024;
/** The longest part of an error's text in a reason, in characters, and the most bytes that are read for it. */
const reasonLength = 300;
const maxReasonBytes = 16 * 1024;

/** The errors of the system that occur before there is a connection. */
const notSent =
  /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$|CERT|TLS|SSL/;

const kinds: Readonly<Record<number, PeerErrorKind>> = {
  ...{ 401: 'refused', 403: 'refused', 404: 'refused', 405: 'refused', 407: 'refused' },
  ...{ 429: 'refused', 503: 'refused', 413: 'final', 414: 'final', 431: 'final' },
};

/** Returns true for an address to which a token may be sent: https, or http on this machine. */
export function isSafeForToken(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/**
 * Makes a `fetch` for an agent of another system. It goes to the given origins only, and to no redirect, and cuts streams with a line that is
 * too long. Rejects with a {@link PeerError}. Answers with an error of A2A are returned.
 */
export function peerFetch({ fetch: send, origins, token }: PeerFetchOptions): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { host, origin } = url;
    if (!origins.includes(origin))
      throw new PeerError(
        'forbidden',
        `${origin} is not asked: it is not the origin of --a2a or of an --a2a-allow`,
      );
    const headers = new Headers(init.headers);
    if (token && isSafeForToken(origin)) headers.set('authorization', `Bearer ${token()}`);
    let response: Response;
    try {
      response = await send(url, { ...init, headers, redirect: 'manual' });
    } catch (thrown) {
      throw asPeerError(thrown, host, init.signal);
    }
    const { status } = response;
    if (status >= 300 && status < 400) {
      await response.body?.cancel();
      const target = URL.parse(response.headers.get('location') ?? '', url.href)?.origin ?? 'nowhere';
      throw new PeerError(
        'forbidden',
        `${host} redirects to ${target} (HTTP ${status}): name the address behind it`,
      );
    }
    if (response.ok) return isStream(response) ? withShortLines(response, host) : response;
    const isJson = /^application\/([\w.+-]+\+)?json\b/.test(response.headers.get('content-type') ?? '');
    const kind = kinds[status] ?? (status >= 500 ? 'failed' : 'final');
    if (isJson && (kind === 'failed' || kind === 'final' || status === 404)) return response;
    const reason = await reasonIn(response, isJson);
    throw new PeerError(kind, `${host} answered HTTP ${status}${reason === '' ? '' : `: ${reason}`}`);
  };
}

/** Returns the failure of a request, or the reason of its signal if that was aborted. */
export function asPeerError(thrown: unknown, host: string, signal?: AbortSignal | null): unknown {
  if (thrown instanceof PeerError) return thrown;
  if (signal?.aborted) return signal.reason;
  if (thrown instanceof SignalboxError) {
    const kind = thrown.code === 'result_too_large' ? 'final' : 'forbidden';
    return new PeerError(kind, thrown.message, { cause: thrown });
  }
  const code = codeOf(thrown);
  if (code === undefined) return undefined;
  const kind = notSent.test(code) ? 'away' : 'lost';
  const words = kind === 'away' ? 'cannot be reached' : 'broke the connection off';
  return new PeerError(kind, `${host} ${words} (${code})`, { cause: thrown });
}

/** Returns the code of an error of the network, which may be a cause of a `TypeError`. */
function codeOf(thrown: unknown, depth = 0): string | undefined {
  if (!(thrown instanceof Error) || depth > 5) return undefined;
  if ('code' in thrown && typeof thrown.code === 'string' && /^[A-Z_\d]+$/.test(thrown.code))
    return thrown.code;
  const inner = thrown instanceof AggregateError ? thrown.errors[0] : thrown.cause;
  const name = thrown instanceof TypeError && /terminated|fetch failed/.test(thrown.message);
  return codeOf(inner, depth + 1) ?? (name ? 'network error' : undefined);
}

function isStream({ headers, body }: Response): boolean {
  return body !== null && headers.get('content-type')?.startsWith('text/event-stream') === true;
}

/** Passes a stream on until one of its lines is too long: its reader keeps a line until its end comes. */
function withShortLines(response: Response, host: string): Response {
  let length = 0;
  const bounded = response.body!.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const first = chunk.indexOf(0x0a);
        const longest =
          first < 0 ? length + chunk.length : Math.max(length + first, longestLine(chunk, first));
        if (longest > maxLineBytes) {
          controller.error(new PeerError('failed', `${host} sent a line of more than ${maxLineBytes} bytes`));
          return;
        }
        length = first < 0 ? length + chunk.length : chunk.length - 1 - chunk.lastIndexOf(0x0a);
        controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

/** Returns the length of the longest line that begins after a place. */
function longestLine(chunk: Uint8Array, from: number): number {
  let longest = 0;
  for (let at = from + 1; at < chunk.length; ) {
    const end = chunk.indexOf(0x0a, at);
    longest = Math.max(longest, (end < 0 ? chunk.length : end) - at);
    if (end < 0) break;
    at = end + 1;
  }
  return longest;
}

/** Returns what an answer tells of its error: the message in its JSON. HTML pages are for people with a browser. */
async function reasonIn(response: Response, isJson: boolean): Promise<string> {
  try {
    if (!isJson || Number(response.headers.get('content-length') ?? 0) > maxReasonBytes) return '';
    const json: unknown = await response.json();
    const error = isJsonObject(json) ? (json.error ?? json) : undefined;
    const message = isJsonObject(error) ? error.message : undefined;
    return typeof message === 'string' ? plainLine(message, reasonLength) : '';
  } catch {
    return '';
  } finally {
    if (!response.bodyUsed) await response.body?.cancel();
  }
}

/** Returns a failure in words, for an error that nobody knows. */
export function unknownFailure(thrown: unknown, host: string): PeerError {
  return new PeerError('failed', `${host}: ${plainLine(messageOf(thrown), reasonLength)}`, { cause: thrown });
}
