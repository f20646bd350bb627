import type { IncomingMessage } from 'node:http';
import { isLoopback } from '@signalbox/protocol';
import { clientGroup } from '@signalbox/serving/tls';

/**
 * Returns the address of the client that sent a request. Use it only for limits. A request from this machine may come from a proxy: then it
 * is the address that the proxy wrote last into `X-Forwarded-For`.
 */
export function addressOf({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): string {
  const { remoteAddress } = socket;
  const isNear = remoteAddress === undefined || isLoopback(remoteAddress.replace(/^::ffff:/, ''));
  if (!isNear) return clientGroup(remoteAddress);
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').at(-1)?.trim();
  return forwarded ? clientGroup(forwarded.slice(0, 64)) : 'this machine';
}
