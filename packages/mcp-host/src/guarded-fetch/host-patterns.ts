import { SignalboxError } from '@signalbox/protocol';
import { isIpAddress } from './public-address.ts';

/** Tells whether one of the operator's patterns names a host (as in `URL.hostname`) on a port. */
export type HostMatcher = (hostname: string, port: number) => boolean;

interface HostPattern {
  host: RegExp;
  /** A pattern of digits, such as `10.*`, means addresses only; the name `10.example.com` is not an address. */
  addressesOnly: boolean;
  /** The port; `undefined` for every port. */
  port: number | undefined;
}

/**
 * Reads patterns such as `localhost`, `10.0.*`, `*.corp.example:8443` or `[::1]:8080`, in which `*` stands for any
 * characters. Without a port, a pattern names every port. Throws `bad_config` for a pattern that can't name a host.
 */
export function hostMatcher(patterns: readonly string[]): HostMatcher {
  const known = patterns.map(readPattern);
  return (hostname, port) => {
    const host = bareHost(hostname);
    return known.some(
      (pattern) =>
        (pattern.port === undefined || pattern.port === port) &&
        pattern.host.test(host) &&
        (!pattern.addressesOnly || isIpAddress(host)),
    );
  };
}

function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

function readPattern(text: string): HostPattern {
  const isBareV6 = !text.startsWith('[') && text.split(':').length > 2;
  const parts = isBareV6 ? null : /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text);
  const host = bareHost(isBareV6 ? text : (parts?.[1] ?? ''));
  const port = parts?.[2] === undefined ? undefined : Number(parts[2]);
  if (!/^[\p{L}\p{N}*._:-]+$/u.test(host) || (port !== undefined && (port < 1 || port > 65_535))) {
    throw new SignalboxError(
      'bad_config',
      `allowHosts: '${text.slice(0, 128)}' names no host; write a host or host:port, as in internal.example:8443 or 127.0.0.1`,
    );
  }
  const source = host.replaceAll('.', '\\.').replaceAll('*', '.*');
  return { host: new RegExp(`^${source}$`, 's'), addressesOnly: /^[\d.*]*\d[\d.*]*$/.test(host), port };
}
