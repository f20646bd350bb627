import { expect, test } from 'vitest';
import { clientGroup } from './client-group.ts';

test('An IPv4 address is a group of its own, however it is written, and IPv6 addresses of one /64 network are one group.', () => {
  expect(clientGroup('192.0.2.7')).toBe('192.0.2.7');
  expect(clientGroup('::ffff:192.0.2.7')).toBe('192.0.2.7');
  const first = clientGroup('2001:db8:1:2:3::1');
  expect(clientGroup('2001:db8:1:2:ffff:1:2:3')).toBe(first);
  expect(clientGroup('2001:db8:1:3::1')).not.toBe(first);
  expect(clientGroup('2001:db8::1')).toBe(clientGroup('2001:db8:0:0:1::'));
  expect(clientGroup('fe80::1%eth0')).toBe(clientGroup('fe80::2'));
});
