import { lookup as dnsLookup } from 'node:dns/promises';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { Response as AgentResponse } from 'undici';
import { boundedBody, tooLarge } from './bounded-body.ts';
import type { Lookup } from './guarded-connector.ts';
import type { GuardedDispatcher } from './guarded-dispatcher.ts';
import { hostMatcher } from './host-patterns.ts';
import { followingHop, type Hop, redirectTarget } from './redirect.ts';

/** `secretHeaders`: names of headers that, like `Authorization`, no other origin may see when a redirect leads there. */
export interface GuardedInit extends RequestInit {
  secretHeaders?: readonly string[];
}

/** A `fetch` for hosts that others name. Dispose it to close its connections. */
export type GuardedFetch = ((input: string | URL | Request, init?: GuardedInit) => Promise<Response>) &
  AsyncDisposable;

export interface GuardedFetchOptions {
  /** Hosts that may be private: `host` or `host:port`, with `*` for any characters. */
  allowHosts?: readonly string[];
  lookup?: Lookup;
  /** Default 8 MiB. */
  maxResponseBytes?: number;
}

const maxRedirects = 5;
const bodyless = [204, 205, 304];

/**
 * Makes a `fetch` that speaks http and https to public addresses only, at the first request and at each redirect, and to
 * the address it judged: there is no second lookup. It rejects with `SignalboxError` `network_blocked` (refused by these
 * rules), `not_sent` (refused by those of `fetch`), `redirect_failed` (a redirect that leads nowhere) or `result_too_large`, and else as `fetch` does. In `details`,
 * `hop` counts the redirects before it: above 0, a server has seen a request. Throws `bad_config` for a bad pattern.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxResponseBytes = 8 * 1024 * 1024, lookup = lookUpAll } = options;
  const allows = hostMatcher(options.allowHosts ?? []);
  // Slow to load, and most processes never fetch anything.
  let opening: Promise<GuardedDispatcher> | undefined;
  const open = async () => {
    const { openDispatcher } = await import('./guarded-dispatcher.ts');
    return openDispatcher(allows, lookup);
  };

  const send = async (hop: Hop, signal: AbortSignal | null, at: number): Promise<AgentResponse> => {
    checkUrl(hop.url, at);
    opening ??= open();
    const dispatcher = await opening;
    let isTried = false;
    try {
      return await dispatcher.send(hop, signal, () => {
        isTried = true;
      });
    } catch (error) {
      if (at > 0) throw afterRedirect(error, hop.url, at);
      throw refusalIn(error) ?? (isTried ? error : untried(error, hop.url));
    }
  };

  const guarded = async (input: string | URL | Request, init: GuardedInit = {}): Promise<Response> => {
    const { first, signal, mode } = await readRequest(input, init);
    const secretHeaders = (init.secretHeaders ?? []).map((name) => name.toLowerCase());
    let hop = first;
    for (let at = 0; ; at++) {
      const response = await send(hop, signal, at);
      const { status } = response;
      const target = redirectTarget(status, response.headers.get('location'), hop.url);
      if (target === undefined || mode === 'manual') return answer(response, hop, at, maxResponseBytes);
      await response.body?.cancel();
      if (mode === 'error') throw redirectFailed('answers with a redirect', hop.url, at + 1);
      if (!target) throw redirectFailed('redirects to something that is no URL', hop.url, at + 1);
      if (at === maxRedirects)
        throw redirectFailed(`redirects more than ${maxRedirects} times`, hop.url, at + 1);
      hop = followingHop(hop, status, target, secretHeaders);
    }
  };
  const close = async () => (await opening)?.close();
  return Object.assign(guarded, { [Symbol.asyncDispose]: close });
}

const lookUpAll: Lookup = async (hostname) => {
  const found = await dnsLookup(hostname, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
};

async function readRequest(input: string | URL | Request, init: GuardedInit) {
  const isRequest = input instanceof Request;
  const url = URL.parse(isRequest ? input.url : String(input));
  if (!url) throw blocked('a request needs a whole URL, with http:// or https://', '', 0);
  checkUrl(url, 0);
  const { secretHeaders: _ours, ...rest } = init;
  const request = new Request(isRequest ? input : url, rest);
  // Read as a whole, so that a redirect can send it again.
  const body = request.body ? await request.arrayBuffer() : null;
  const first: Hop = { url, method: request.method, headers: request.headers, body };
  return { first, signal: init.signal ?? (isRequest ? input.signal : null), mode: request.redirect };
}

function checkUrl(url: URL, hop: number): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw blocked(`only http and https are spoken, not ${url.protocol.slice(0, 32)}`, url.hostname, hop);
  }
  if (url.username !== '' || url.password !== '') {
    throw blocked(
      `the URL for ${url.hostname} holds a user name or password; leave them out`,
      url.hostname,
      hop,
    );
  }
}

function blocked(message: string, host: string, hop: number): SignalboxError {
  return new SignalboxError('network_blocked', message, { details: { host, hop } });
}

function redirectFailed(what: string, url: URL, hop: number, cause?: unknown): SignalboxError {
  return new SignalboxError('redirect_failed', `${url.hostname} ${what}`, {
    cause,
    details: { host: url.hostname, hop },
  });
}

/** What `fetch` itself refuses before it goes near the network, such as a port of another protocol. */
function untried(error: unknown, { host }: URL): unknown {
  if (!(error instanceof TypeError)) return error;
  const why = messageOf(error.cause ?? error);
  return new SignalboxError('not_sent', `${host}: ${why}`, { cause: error, details: { host, hop: 0 } });
}

/** Our own refusal, where `fetch` has wrapped it. */
function refusalIn(error: unknown): SignalboxError | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof SignalboxError ? cause : undefined;
}

function afterRedirect(error: unknown, url: URL, hop: number): unknown {
  const refusal = refusalIn(error);
  if (refusal)
    return new SignalboxError(refusal.code, refusal.message, { details: { ...refusal.details, hop } });
  return error instanceof TypeError
    ? redirectFailed('could not be reached after a redirect', url, hop, error)
    : error;
}

/** The response as one of the global class, which other libraries expect. */
function answer(response: AgentResponse, { url }: Hop, hops: number, maxBytes: number): Response {
  const { status, statusText } = response;
  const headers = new Headers([...response.headers]);
  if (Number(headers.get('content-length')) > maxBytes) {
    void response.body?.cancel();
    throw tooLarge(url.hostname, maxBytes);
  }
  const source = response.body as ReadableStream<Uint8Array> | null;
  const body = source && !bodyless.includes(status) ? boundedBody(source, maxBytes, url.hostname) : null;
  const result = new Response(body, { status, statusText, headers });
  Object.defineProperty(result, 'url', { value: url.href });
  Object.defineProperty(result, 'redirected', { value: hops > 0 });
  return result;
}
