import { expect, it } from 'vitest';
import { hostMatcher } from './host-patterns.ts';

it.each([
  ['localhost', 'localhost', 80, true],
  ['localhost', 'LOCALHOST.', 8080, true],
  ['localhost', 'localhost.example', 80, false],
  ['localhost:8080', 'localhost', 8080, true],
  ['localhost:8080', 'localhost', 80, false],
  ['*.corp.example', 'api.corp.example', 443, true],
  ['*.corp.example', 'corp.example', 443, false],
  ['*.corp.example', 'apixcorp.example', 443, false],
  ['api.corp.example', 'apiXcorp.example', 443, false],
  ['10.0.*', '10.0.3.4', 80, true],
  ['10.0.*', '10.0.evil.example', 80, false],
  ['[::1]:8080', '[::1]', 8080, true],
  ['[::1]:8080', '[::1]', 80, false],
  ['::1', '[::1]', 80, true],
  ['*', 'anything.example', 80, true],
])('the pattern %s on %s:%d is %s', (pattern, host, port, expected) => {
  expect(hostMatcher([pattern])(host, port)).toBe(expected);
});

it('no pattern allows nothing', () => {
  expect(hostMatcher([])('localhost', 80)).toBe(false);
});

it.each(['', 'http://localhost', 'a b', 'host:', 'host:0', 'host:70000', '[::1', 'host/path'])(
  'refuses %j as a pattern and says what one looks like',
  (pattern) => {
    expect(() => hostMatcher([pattern])).toThrow(/allowHosts: .* names no host; write a host or host:port/);
  },
);
