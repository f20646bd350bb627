import { expect, it } from 'vitest';
import { isIpAddress, nonPublicRange } from './public-address.ts';

it.each([
  ['127.0.0.1', 'loopback'],
  ['10.1.2.3', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['169.254.169.254', 'link-local'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['0.0.0.0', 'unspecified'],
  ['224.0.0.1', 'multicast'],
  ['255.255.255.255', 'broadcast'],
  ['198.18.0.1', 'reserved'],
  ['203.0.113.9', 'reserved'],
  ['::1', 'loopback'],
  ['[::1]', 'loopback'],
  ['::', 'unspecified'],
  ['fe80::1%eth0', 'link-local'],
  ['fec0::1', 'reserved'],
  ['fd00::1', 'unique local'],
  ['ff02::1', 'multicast'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:a00:1', 'private'],
  ['::ffff:0:10.0.0.1', 'private'],
  ['64:ff9b::a9fe:a9fe', 'link-local'],
  ['64:ff9b:1::a00:1', 'reserved'],
  ['2002:7f00:1::1', 'loopback'],
  ['2001:0:53aa:64c:0:0:0:1', 'reserved'],
  ['2001:db8::1', 'reserved'],
  ['::7f00:1', 'reserved'],
  ['nonsense', 'not an address'],
  ['', 'not an address'],
])('the address %s is refused as %s', (address, range) => {
  expect(nonPublicRange(address)).toBe(range);
});

it.each([
  '8.8.8.8',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700:4700::1111',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
  '2002:808:808::1',
])('the address %s is public', (address) => {
  expect(nonPublicRange(address)).toBeUndefined();
});

it('tells addresses from names', () => {
  expect(['127.0.0.1', '[::1]', '::1'].every(isIpAddress)).toBe(true);
  expect(['localhost', 'example.com', ''].some(isIpAddress)).toBe(false);
});
