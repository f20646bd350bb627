import { expect, test } from 'vitest';
import { refuseRequest } from './request-check.ts';

const origins = ['https://signalbox.example.com', 'http://127.0.0.1:7420'];
const own = { host: '127.0.0.1:7420' };

function codeOf(method: string, headers: Record<string, string>): string | undefined {
  return refuseRequest({ method, headers }, origins)?.code;
}

test.each([
  ['the address of the broker', own],
  ['another name of this machine', { host: 'localhost:7420' }],
  ['an origin that the broker trusts', { host: 'signalbox.example.com' }],
])('A read under %s is allowed.', (_, headers) => {
  expect(codeOf('GET', headers)).toBeUndefined();
});

test.each([
  ['a name that was rebound', { host: 'evil.example:7420' }],
  ['another port', { host: '127.0.0.1:80' }],
  ['no name', {}],
])('A request under %s is refused.', (_, headers) => {
  expect(codeOf('GET', headers)).toBe('forbidden_host');
});

test('A change needs the origin of the page, on the same host and port.', () => {
  expect(codeOf('POST', { ...own, origin: 'http://127.0.0.1:7420' })).toBeUndefined();
  for (const origin of [
    'http://127.0.0.1:3000',
    'http://evil.example',
    'null',
    'https://signalbox.example.com',
    'https://127.0.0.1:7420',
  ])
    expect(codeOf('POST', { ...own, origin }), origin).toBe('forbidden_origin');
  expect(codeOf('POST', own)).toBe('forbidden_origin');
  const here = { host: 'localhost:7420' };
  expect(codeOf('POST', { ...here, origin: 'http://localhost:7420' })).toBeUndefined();
  expect(codeOf('POST', { ...here, origin: 'http://127.0.0.1:7420' })).toBe('forbidden_origin');
});

test('Behind a proxy with TLS the page comes by https, and the same name without it is another origin.', () => {
  for (const host of ['signalbox.example.com', 'SIGNALBOX.example.com'])
    expect(codeOf('POST', { host, origin: 'https://signalbox.example.com' }), host).toBeUndefined();
  const proxied = { host: 'signalbox.example.com' };
  for (const origin of ['http://signalbox.example.com', 'https://signalbox.example.com:8443'])
    expect(codeOf('POST', { ...proxied, origin }), origin).toBe('forbidden_origin');
});

test('What another site asks for is refused, and a link from there to the page is not.', () => {
  const asked = {
    ...own,
    'sec-fetch-site': 'same-site',
    'sec-fetch-mode': 'cors',
    'sec-fetch-dest': 'empty',
  };
  expect(codeOf('GET', asked)).toBe('forbidden_origin');
  const framed = {
    ...own,
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'iframe',
  };
  expect(codeOf('GET', framed)).toBe('forbidden_origin');
  expect(codeOf('GET', { ...framed, 'sec-fetch-dest': 'document' })).toBeUndefined();
  expect(codeOf('POST', { ...framed, 'sec-fetch-dest': 'document', origin: 'http://127.0.0.1:7420' })).toBe(
    'forbidden_origin',
  );
});
