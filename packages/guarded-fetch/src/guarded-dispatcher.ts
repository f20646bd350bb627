import { Agent, fetch, type RequestInit, type Response } from 'undici';
import { guardedConnector, type Lookup } from './guarded-connector.ts';
import type { HostMatcher } from './host-patterns.ts';
import type { Hop } from './redirect.ts';

/** Sends one request, without following redirects, over connections that the guard has judged. */
export interface GuardedDispatcher {
  /** `onTried` is called before anything goes near the network. */
  send(hop: Hop, signal: AbortSignal | null, onTried: () => void): Promise<Response>;
  close(): Promise<void>;
}

export function openDispatcher(allows: HostMatcher, lookup: Lookup): GuardedDispatcher {
  const agent = new Agent({ connect: guardedConnector(allows, lookup) });
  return {
    send({ url, method, headers, body }, signal, onTried) {
      const dispatcher = agent.compose((dispatch) => (options, handler) => {
        onTried();
        return dispatch(options, handler);
      });
      const init = { method, headers: [...headers], body, signal, redirect: 'manual', dispatcher };
      return fetch(url, init as RequestInit);
    },
    close: () => agent.destroy(),
  };
}
