import ipaddr from 'ipaddr.js';

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** The prefix of RFC 8215. The network decides where the IPv4 address is in it, so these addresses can't be checked. */
const localTranslation = ipaddr.IPv6.parseCIDR('64:ff9b:1::/48');

/**
 * Names the range, such as `loopback` or `private`, of an IP address that does not belong to the public internet; returns `undefined` for
 * one that does. IPv6 addresses that carry an IPv4 address (mapped, translated, NAT64, 6to4) are classified by that one. A text that is not
 * an address is `not an address`.
 */
export function nonPublicRange(address: string): string | undefined {
  const bare = withoutBrackets(address);
  if (!ipaddr.isValid(bare)) return 'not an address';
  const parsed = ipaddr.parse(bare);
  return parsed instanceof ipaddr.IPv4 ? rangeOfV4(parsed) : rangeOfV6(parsed as ipaddr.IPv6);
}

/** Tells whether the hostname of a URL is an IP address, which needs no lookup. */
export function isIpAddress(hostname: string): boolean {
  return ipaddr.isValid(withoutBrackets(hostname));
}

function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

function rangeOfV4(address: ipaddr.IPv4): string | undefined {
  const range = address.range();
  return range === 'unicast' ? undefined : nameOf(range);
}

function rangeOfV6(address: ipaddr.IPv6): string | undefined {
  const range = address.range();
  const { parts } = address;
  switch (range) {
    case 'ipv4Mapped':
    case 'rfc6145':
    case 'rfc6052':
      return address.match(localTranslation) ? 'reserved' : rangeOfEmbedded(parts[6]!, parts[7]!);
    case '6to4':
      return rangeOfEmbedded(parts[1]!, parts[2]!);
    case 'unicast':
      return address.match(globalUnicast) ? undefined : 'reserved';
    default:
      return nameOf(range);
  }
}

function rangeOfEmbedded(high: number, low: number): string | undefined {
  return rangeOfV4(new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]));
}

/** The ranges of ipaddr.js whose names help a person; all others are called `reserved`. */
const names: Record<string, string> = {
  broadcast: 'broadcast',
  carrierGradeNat: 'carrier-grade NAT',
  linkLocal: 'link-local',
  loopback: 'loopback',
  multicast: 'multicast',
  private: 'private',
  uniqueLocal: 'unique local',
  unspecified: 'unspecified',
};

function nameOf(range: string): string {
  return names[range] ?? 'reserved';
}
