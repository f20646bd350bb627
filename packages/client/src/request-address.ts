import { nanoid } from 'nanoid';

/** Begins the sub-inbox of a client that sends requests. */
const mark = '#mcp-';

/**
 * Returns a new address for a client that sends requests: a sub-inbox of its own, so that two clients with one token never take each
 * other's replies. The broker removes it some time after its last holder has gone. `name` is the part that distinguishes the address from
 * others.
 */
export function requestAddress(agent: string, name = nanoid()): string {
  return `${agent}${mark}${name}`;
}

/** Tells whether an address is one of {@link requestAddress}. Nobody else knows it, so that nothing but replies comes there. */
export function isRequestAddress(address: string): boolean {
  return address.includes(mark);
}
