import type { LookupFunction } from 'node:net';
import { isIPv6 } from 'node:net';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { buildConnector } from 'undici';
import { isAddress, nonPublicRange } from './address-rules.ts';
import type { HostMatcher } from './host-patterns.ts';

/** Every address of a host name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * A connector that opens sockets to public addresses only, unless the operator allows the host. The socket is opened to
 * the addresses that were judged. Refusals are `SignalboxError` `network_blocked`.
 */
export function guardedConnector(allows: HostMatcher, lookup: Lookup): buildConnector.connector {
  const open = buildConnector({ lookup: lookupFor(lookup, () => undefined) } as buildConnector.BuildOptions);
  const guarded = buildConnector({ lookup: lookupFor(lookup, refusalOf) } as buildConnector.BuildOptions);
  return (options, callback) => {
    const { hostname, protocol } = options;
    const port = Number(options.port || (protocol === 'https:' ? 443 : 80));
    if (allows(hostname, port)) return open(options, callback);
    const refusal = isAddress(hostname) ? refusalOf(hostname, [hostname]) : undefined;
    return refusal ? callback(refusal, null) : guarded(options, callback);
  };
}

type Judge = (hostname: string, addresses: readonly string[]) => SignalboxError | undefined;

/** One bad address among good ones refuses the host: which of them would be used is not ours to say. */
const refusalOf: Judge = (hostname, addresses) => {
  const range = addresses.map(nonPublicRange).find((found) => found !== undefined);
  if (range === undefined) return undefined;
  const message = `${hostname} is not on the public internet (${range} address); if it is meant, name it in allowHosts`;
  return new SignalboxError('network_blocked', message, { details: { host: hostname, hop: 0 } });
};

function lookupFor(lookup: Lookup, judge: Judge): LookupFunction {
  return (hostname, options, callback) => {
    const fail = (error: Error) => callback(error, []);
    lookup(hostname).then(
      (addresses) => {
        const refusal = judge(hostname, addresses);
        if (refusal) return fail(refusal);
        const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        if (found.length === 0) return fail(noAddress(hostname));
        if (options.all) return callback(null, found);
        return callback(null, found[0]!.address, found[0]!.family);
      },
      (error: unknown) => fail(error instanceof Error ? error : new Error(messageOf(error))),
    );
  };
}

function noAddress(hostname: string): Error {
  return Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
}
