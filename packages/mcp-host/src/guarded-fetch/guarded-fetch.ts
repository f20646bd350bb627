import { lookup as dnsLookup } from 'node:dns/promises';
import type { Response as AgentResponse } from 'undici';
import { blocked, redirectFailed, requestError, tooLarge } from './errors.ts';
import type { GuardedAgent, Lookup } from './guarded-agent.ts';
import { hostMatcher } from './host-patterns.ts';
import { followingHop, type Hop, redirectTarget } from './redirects.ts';

/** A `fetch` for URLs that somebody else chose. Disposing it closes its connections. */
export type GuardedFetch = ((input: string | URL | Request, init?: GuardedInit) => Promise<Response>) &
  AsyncDisposable;

/** The options of one request. */
export interface GuardedInit extends RequestInit {
  /** Headers that, like `Authorization`, are not sent to another origin when a redirect leads there. */
  secretHeaders?: readonly string[];
}

/** The options of {@link createGuardedFetch}. */
export interface GuardedFetchOptions {
  /** Hosts that may be private: `host` or `host:port`, with `*` for any characters. */
  allowHosts?: readonly string[];
  /** Returns every address of a host name; by default the system is asked. */
  lookup?: Lookup;
  /** The largest response body in bytes; 8 MiB by default. */
  maxResponseBytes?: number;
}

const maxRedirects = 5;

/**
 * Creates a `fetch` that connects only to public addresses over http and https, at the first request and at each redirect.
 * It connects to the very address that it has checked, without a second lookup. It rejects with a `SignalboxError`:
 * `network_blocked` (these rules refuse the request), `not_sent` (the rules of `fetch` refuse it), `redirect_failed` (a
 * redirect leads nowhere) or `result_too_large`; else as `fetch` does. `details.hop` is the number of redirects before the
 * error: above 0, a server has seen a request. Throws `bad_config` for a bad pattern in `allowHosts`.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxResponseBytes = 8 * 1024 * 1024, lookup = lookUpAll } = options;
  const allows = hostMatcher(options.allowHosts ?? []);
  let opening: Promise<GuardedAgent> | undefined;
  // Loaded when it is needed: undici is slow to load, and most processes fetch nothing.
  const openAgent = async () => {
    const { openGuardedAgent } = await import('./guarded-agent.ts');
    return openGuardedAgent(allows, lookup);
  };

  const send = async (hop: Hop, signal: AbortSignal | null, redirects: number): Promise<AgentResponse> => {
    checkUrl(hop.url, redirects);
    opening ??= openAgent();
    const agent = await opening;
    let wasTried = false;
    const onTried = () => {
      wasTried = true;
    };
    try {
      return await agent.send(hop, signal, onTried);
    } catch (error) {
      throw requestError(error, hop.url, redirects, wasTried);
    }
  };

  const guarded = async (input: string | URL | Request, init: GuardedInit = {}): Promise<Response> => {
    const { first, signal, redirectMode, secretHeaders } = await readRequest(input, init);
    let hop = first;
    for (let redirects = 0; ; redirects++) {
      const response = await send(hop, signal, redirects);
      const target = redirectTarget(response.status, response.headers.get('location'), hop.url);
      if (target === undefined || redirectMode === 'manual') {
        return globalResponse(response, hop.url, redirects > 0, maxResponseBytes);
      }
      await response.body?.cancel();
      const fail = (what: string) => redirectFailed(what, hop.url, redirects + 1);
      if (redirectMode === 'error') throw fail('answers with a redirect');
      if (!target) throw fail('redirects to something that is no URL');
      if (redirects === maxRedirects) throw fail(`redirects more than ${maxRedirects} times`);
      hop = followingHop(hop, response.status, target, secretHeaders);
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
  const { secretHeaders = [], ...rest } = init;
  const request = new Request(isRequest ? input : url, rest);
  // The body is read as a whole, so that a redirect can send it again.
  const body = request.body ? await request.arrayBuffer() : null;
  const first: Hop = { url, method: request.method, headers: request.headers, body };
  const signal = init.signal ?? (isRequest ? input.signal : null);
  return { first, signal, redirectMode: request.redirect, secretHeaders };
}

function checkUrl({ protocol, hostname, username, password }: URL, redirects: number): void {
  if (protocol !== 'http:' && protocol !== 'https:') {
    const message = `only http and https URLs can be fetched, not ${protocol.slice(0, 32)}`;
    throw blocked(message, hostname, redirects);
  }
  if (username !== '' || password !== '') {
    const message = `the URL for ${hostname} holds a user name or password; leave them out`;
    throw blocked(message, hostname, redirects);
  }
}

const bodylessStatus = [204, 205, 304];

/**
 * Makes a response of the global class, which other libraries expect, from one of the agent's. Its body fails with
 * `result_too_large` when it becomes larger than `maxBytes`; if that is announced, this function throws it.
 */
function globalResponse(
  response: AgentResponse,
  url: URL,
  wasRedirected: boolean,
  maxBytes: number,
): Response {
  const { status, statusText } = response;
  const headers = new Headers([...response.headers]);
  if (Number(headers.get('content-length')) > maxBytes) {
    void response.body?.cancel();
    throw tooLarge(url.hostname, maxBytes);
  }
  const source = response.body as ReadableStream<Uint8Array> | null;
  const body = source && !bodylessStatus.includes(status) ? bounded(source, maxBytes, url.hostname) : null;
  const result = new Response(body, { status, statusText, headers });
  Object.defineProperty(result, 'url', { value: url.href });
  Object.defineProperty(result, 'redirected', { value: wasRedirected });
  return result;
}

function bounded(body: ReadableStream<Uint8Array>, maxBytes: number, host: string) {
  let bytes = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw tooLarge(host, maxBytes);
        controller.enqueue(chunk);
      },
    }),
  );
}
