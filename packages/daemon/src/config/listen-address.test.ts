import { expect, test } from 'vitest';
import { formatListenAddress, parseListenAddress } from './listen-address.ts';

test('Host and port, a bracketed IPv6 address and a port alone are addresses.', () => {
  expect(['127.0.0.1:7420', '[::1]:0', 'box.local:80', '7420'].map(parseListenAddress)).toEqual([
    { host: '127.0.0.1', port: 7420 },
    { host: '::1', port: 0 },
    { host: 'box.local', port: 80 },
    { host: '127.0.0.1', port: 7420 },
  ]);
});

test('A text without a port, with too large a port or with spaces is no address.', () => {
  expect(['localhost', '127.0.0.1:70000', '::1:7420', 'a b:1', ''].map(parseListenAddress)).toEqual(
    Array(5).fill(undefined),
  );
});

test('An address is written as it is read.', () => {
  for (const text of ['127.0.0.1:7420', '[::1]:0']) {
    expect(formatListenAddress(parseListenAddress(text)!)).toBe(text);
  }
});
