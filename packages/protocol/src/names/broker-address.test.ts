import { expect, test } from 'vitest';
import type { SignalboxError } from '../signalbox-error.ts';
import { parseBrokerAddress, parseBrokerAddresses, untrustedDirectory } from './broker-address.ts';

function codeOf(text: string, options = {}): unknown {
  try {
    return parseBrokerAddress(text, options);
  } catch (error) {
    return (error as SignalboxError).code;
  }
}

test('A Unix socket is named by its absolute path, which is taken as it is.', () => {
  expect(parseBrokerAddress('unix:/tmp/a b:c%20/broker.sock')).toEqual({
    url: 'unix:/tmp/a b:c%20/broker.sock',
    isLocal: true,
    socketPath: '/tmp/a b:c%20/broker.sock',
  });
  for (const bad of ['unix:', 'unix:broker.sock', 'unix:/', 'unix:/tmp/', 'unix:/tmp/a\nb', 'unix:/tmp/a\0b'])
    expect(codeOf(bad)).toBe('bad_broker_url');
});

test('The path of a socket has at most 100 bytes.', () => {
  const path = `/${'é'.repeat(49)}x`;
  expect(parseBrokerAddress(`unix:${path}`).socketPath).toBe(path);
  expect(() => parseBrokerAddress(`unix:${path}x`)).toThrow(/at most 100 bytes, and .* has 101/);
});

test('Plain ws:// is for this machine, and beyond it only with insecure; wss:// leads anywhere.', () => {
  for (const url of ['ws://127.0.0.1:7420', 'ws://localhost:7420', 'ws://[::1]:7420'])
    expect(parseBrokerAddress(url)).toEqual({ url, isLocal: true });
  expect(parseBrokerAddress('wss://box.example')).toEqual({ url: 'wss://box.example', isLocal: false });
  for (const url of [
    'ws://10.0.0.7:7420',
    'ws://0.0.0.0:7420',
    'ws://localhost.example:7420',
    'ws://127.0.0.1.example:7420',
    'ws://[::2]:7420',
  ]) {
    expect(codeOf(url)).toBe('insecure_url');
    expect(parseBrokerAddress(url, { insecure: true })).toEqual({ url, isLocal: false });
  }
  expect(() => parseBrokerAddress('ws://10.0.0.7:7420')).toThrow(/without encryption.*--insecure/);
});

test('Other schemes, fragments and passwords are refused, and a password is not repeated.', () => {
  for (const url of ['http://127.0.0.1:7420', '127.0.0.1:7420', '', 'ws://127.0.0.1:7420/#a', 'unix'])
    expect(codeOf(url, { insecure: true })).toBe('bad_broker_url');
  expect(() => parseBrokerAddress('ws://me:hush@127.0.0.1:7420')).toThrow(/no user and no password/);
  expect(() => parseBrokerAddress('ws://me:hush@127.0.0.1:7420')).not.toThrow(/hush/);
});

test('A list has addresses with commas in between, and each of them is read by itself.', () => {
  expect(parseBrokerAddresses(' unix:/tmp/a/broker.sock, ws://[::1]:7420 ,wss://box.example')).toEqual([
    { url: 'unix:/tmp/a/broker.sock', isLocal: true, socketPath: '/tmp/a/broker.sock' },
    { url: 'ws://[::1]:7420', isLocal: true },
    { url: 'wss://box.example', isLocal: false },
  ]);
  expect(parseBrokerAddresses('wss://box.example')).toHaveLength(1);
  expect(parseBrokerAddresses('ws://10.0.0.7:1,wss://box.example', { insecure: true })).toHaveLength(2);
});

test('A bad entry of a list is refused by its name, or by its place if it is empty.', () => {
  const good = 'ws://127.0.0.1:1';
  for (const [list, message] of [
    [`${good},box.example`, /^'box\.example' is not a broker's address/],
    [`${good},ws://10.0.0.7:7420`, /^ws:\/\/10\.0\.0\.7:7420 leads to another machine/],
    [`${good},ws://me:hush@127.0.0.1:2`, /^a broker's url holds no user and no password$/],
    [`${good},`, /^address 2 of 2 in the list of brokers is empty$/],
    [`${good}, ${good}`, /has ws:\/\/127\.0\.0\.1:1 twice$/],
    [Array.from({ length: 17 }, (_, n) => `ws://127.0.0.1:${n + 1}`).join(','), /at most 16 .* has 17$/],
  ] as const)
    expect(() => parseBrokerAddresses(list)).toThrow(message);
  expect(() => parseBrokerAddresses('')).toThrow("'' is not a broker's address");
});

test('One address has no comma, so that no directory can add an address to a list.', () => {
  for (const one of ['unix:/tmp/a,wss:box.example/broker.sock', 'ws://127.0.0.1:1/a,b', 'wss://a,wss://b'])
    expect(codeOf(one)).toBe('bad_broker_url');
});

test('A directory is trusted if it is the user’s own or root’s, and nobody else may write to it.', () => {
  expect(untrustedDirectory({ uid: 7, mode: 0o40755 }, 7)).toBeUndefined();
  expect(untrustedDirectory({ uid: 0, mode: 0o40755 }, 7)).toBeUndefined();
  expect(untrustedDirectory({ uid: 8, mode: 0o40700 }, 7)).toContain('user 8');
  expect(untrustedDirectory({ uid: 8, mode: 0o40700 }, 0)).toContain('user 8');
  for (const mode of [0o40770, 0o40702, 0o41777])
    expect(untrustedDirectory({ uid: 7, mode }, 7)).toContain('write');
});
