import { expect, it } from 'vitest';
import { checkSecure } from './secure-fetch.ts';

it('takes https addresses, and http on this machine only', () => {
  const good = [
    'https://a.example/x',
    'http://127.0.0.1:80/',
    'http://127.3.2.1/',
    'http://[::1]:1/',
    'http://localhost/',
  ];
  for (const url of good) expect(() => checkSecure(url)).not.toThrow();
  const bad = ['http://a.example/', 'http://127.0.0.1.example/', 'http://10.0.0.1/', 'ftp://localhost/'];
  for (const url of bad) expect(() => checkSecure(url)).toThrow('without encryption');
});

it('does not repeat what else is in the address', () => {
  expect(() => checkSecure('http://user:pass@a.example/?key=secret')).toThrow(
    expect.not.objectContaining({ message: expect.stringMatching(/pass|secret/) }),
  );
});
