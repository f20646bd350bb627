import { Agent, EnvHttpProxyAgent, fetch } from 'undici';
import type { Fetch } from './request-fetch.ts';

/** A `fetch` with connections of its own. */
export interface UpstreamFetch {
  fetch: Fetch;
  /** Ends all connections, and the requests on them. */
  close(): Promise<void>;
}

/** Neither the head of a response nor a piece of its body has a deadline here. */
const patient = { headersTimeout: 0, bodyTimeout: 0 };

/**
 * Opens a `fetch` that waits as long as its caller does. Node's own ends a request on which nothing was sent for 300 s,
 * and a tool may be silent for longer. Proxies of the environment are used where Node's own would use them.
 */
export function openUpstreamFetch(): UpstreamFetch {
  const { NODE_USE_ENV_PROXY, NODE_OPTIONS = '' } = process.env;
  const usesProxies =
    NODE_USE_ENV_PROXY === '1' || [...process.execArgv, NODE_OPTIONS].join(' ').includes('--use-env-proxy');
  const dispatcher = usesProxies ? new EnvHttpProxyAgent(patient) : new Agent(patient);
  const send = fetch as unknown as (url: string | URL, init: object) => Promise<Response>;
  return {
    fetch: (url, init) => send(url, { ...init, dispatcher }),
    close: () => dispatcher.destroy(),
  };
}
