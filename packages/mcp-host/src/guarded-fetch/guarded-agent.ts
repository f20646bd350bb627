import type { LookupFunction } from 'node:net';
import { isIPv6 } from 'node:net';
import { messageOf, type SignalboxError } from '@signalbox/protocol';
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici';
import { notPublic } from './errors.ts';
import type { HostMatcher } from './host-patterns.ts';
import { isIpAddress, nonPublicRange } from './public-address.ts';
import type { Hop } from './redirects.ts';

/** Returns every address of a host name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Sends single requests, without following redirects, over guarded connections. */
export interface GuardedAgent {
  /** Sends one request. `onTried` is called before any byte goes to the network. */
  send(hop: Hop, signal: AbortSignal | null, onTried: () => void): Promise<Response>;
  /** Closes all connections, and breaks off the requests on them. */
  close(): Promise<void>;
}

/**
 * Opens an agent that connects only to public addresses, and to any address of the hosts that `allows` names. A socket is
 * opened to the very addresses that were checked. Requests to other addresses reject with `network_blocked` as the cause.
 */
export function openGuardedAgent(allows: HostMatcher, lookup: Lookup): GuardedAgent {
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

function guardedConnector(allows: HostMatcher, lookup: Lookup): buildConnector.connector {
  const open = connectorWith(lookup, () => undefined);
  const guarded = connectorWith(lookup, refusalOf);
  return (options, callback) => {
    const { hostname, protocol } = options;
    const port = Number(options.port || (protocol === 'https:' ? 443 : 80));
    if (allows(hostname, port)) return open(options, callback);
    const refusal = isIpAddress(hostname) ? refusalOf(hostname, [hostname]) : undefined;
    return refusal ? callback(refusal, null) : guarded(options, callback);
  };
}

/** Returns the error for addresses to which no connection is allowed. */
type AddressCheck = (hostname: string, addresses: readonly string[]) => SignalboxError | undefined;

/** Refuses a host with a single bad address, because the connector chooses which address to use. */
const refusalOf: AddressCheck = (hostname, addresses) => {
  const range = addresses.map(nonPublicRange).find((found) => found !== undefined);
  return range === undefined ? undefined : notPublic(hostname, range);
};

function connectorWith(lookup: Lookup, check: AddressCheck): buildConnector.connector {
  const checkedLookup: LookupFunction = (hostname, options, callback) => {
    const fail = (error: Error) => callback(error, []);
    lookup(hostname).then(
      (addresses) => {
        const refusal = check(hostname, addresses);
        if (refusal) return fail(refusal);
        const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        if (found.length === 0) return fail(noAddress(hostname));
        if (options.all) return callback(null, found);
        return callback(null, found[0]!.address, found[0]!.family);
      },
      (error: unknown) => fail(error instanceof Error ? error : new Error(messageOf(error))),
    );
  };
  return buildConnector({ lookup: checkedLookup } as buildConnector.BuildOptions);
}

function noAddress(hostname: string): Error {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
}
