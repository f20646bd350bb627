import { expect, it } from 'vitest';
import { followingHop, type Hop, redirectTarget } from './redirects.ts';

const from = new URL('https://a.example/start?x=1');
const headers = {
  authorization: 'Bearer s',
  cookie: 'c=1',
  'x-api-key': 'k',
  'content-type': 'text/plain',
  accept: '*/*',
};
const hop = (method: string): Hop => ({
  url: from,
  method,
  headers: new Headers(headers),
  body: method === 'GET' ? null : new TextEncoder().encode('body').buffer,
});

it('reads the target of a redirect, relative ones too', () => {
  expect(redirectTarget(302, '../there', from)?.href).toBe('https://a.example/there');
  expect(redirectTarget(302, 'http://', from)).toBeNull();
  expect(redirectTarget(302, null, from)).toBeUndefined();
  expect(redirectTarget(304, '/there', from)).toBeUndefined();
  expect(redirectTarget(200, '/there', from)).toBeUndefined();
});

it.each([
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'POST', 'GET'],
  [303, 'PUT', 'GET'],
  [302, 'PUT', 'PUT'],
  [307, 'POST', 'POST'],
  [308, 'DELETE', 'DELETE'],
  [303, 'HEAD', 'HEAD'],
  [301, 'GET', 'GET'],
])('after %d a %s goes on as %s', (status, method, expected) => {
  const next = followingHop(hop(method), status, new URL('/b', from), []);
  expect(next.method).toBe(expected);
  const keeps = expected === method && method !== 'GET';
  expect(next.body !== null).toBe(keeps);
  if (!keeps && method !== 'GET' && method !== 'HEAD') expect(next.headers.has('content-type')).toBe(false);
});

it.each(['https://a.example/b', 'https://a.example:443/'])('keeps credentials for %s', (target) => {
  const next = followingHop(hop('GET'), 302, new URL(target), ['x-api-key']);
  expect(Object.fromEntries(next.headers)).toEqual(headers);
});

it.each(['https://b.example/', 'http://a.example/', 'https://a.example:8443/'])(
  'drops credentials for %s',
  (target) => {
    const next = followingHop(hop('GET'), 302, new URL(target), ['x-api-key']);
    expect(Object.fromEntries(next.headers)).toEqual({ 'content-type': 'text/plain', accept: '*/*' });
  },
);
