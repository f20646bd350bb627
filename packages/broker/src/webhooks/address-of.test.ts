import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { addressOf } from './address-of.ts';

const address = (remoteAddress: string | undefined, forwarded?: string): string =>
  addressOf({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress } as IncomingMessage['socket'],
  });

test('What a proxy on this machine wrote last says who the client is, and what clients write is not believed.', () => {
  expect(address('127.0.0.1', '6.6.6.6, 203.0.113.9')).toBe('203.0.113.9');
  expect(address('::ffff:127.0.0.1', '203.0.113.9')).toBe('203.0.113.9');
  expect(address(undefined, '203.0.113.9')).toBe('203.0.113.9');
  expect(address('198.51.100.7', '203.0.113.9')).toBe('198.51.100.7');
  expect(address('127.0.0.1')).toBe('this machine');
  expect(address('127.0.0.1', '2001:db8:1:2::9')).toBe('2001:db8:1:2');
});
