import { expect, test } from 'vitest';
import { isJsonContentType } from '../sdk/http-request.ts';
import { refuseTarget } from './http-face.ts';
import { refuseContent, refuseHost } from './request-check.ts';

const hosts = new Set(['localhost', '127.0.0.1', '[::1]']);
const head = (headers: Record<string, string>, more: { method?: string; url?: string } = {}) => ({
  method: 'POST',
  url: '/mcp',
  headers,
  ...more,
});
const statusOf = (headers: Record<string, string>, more = {}) =>
  (refuseHost(head(headers, more), hosts) ?? refuseTarget(head(headers, more)))?.status;

test('a Host header is checked by its name; port and case do not matter', () => {
  for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1:7421', '[::1]', '[::1]:80']) {
    expect(statusOf({ host }), host).toBeUndefined();
  }
  for (const host of [
    '',
    'evil.example',
    'localhost.evil.example',
    '[::2]',
    'localhost/../x.evil',
    'a b',
    ':80',
  ]) {
    expect(statusOf({ host }), host).toBe(host.startsWith('localhost/') ? undefined : 403);
  }
  expect(statusOf({})).toBe(403);
});

test('MCP is served at /mcp and at /mcp/, and at no other path', () => {
  const statusAt = (url: string) => statusOf({ host: 'localhost' }, { url });
  expect(['/mcp', '/mcp/', '/mcp/?a=1'].map(statusAt)).toEqual([undefined, undefined, undefined]);
  expect(['/', '/mcp//', '/mcp/x', '/mcpx'].map(statusAt)).toEqual([404, 404, 404, 404]);
});

test('an Origin has to be a page of this machine; without one it is no page', () => {
  const host = 'localhost';
  for (const origin of ['http://localhost', 'https://127.0.0.1:3000', 'http://[::1]:5173']) {
    expect(statusOf({ host, origin }), origin).toBeUndefined();
  }
  for (const origin of ['', 'null', 'http://', 'file:///x', 'ftp://localhost', 'http://evil.example']) {
    expect(statusOf({ host, origin }), origin).toBe(403);
  }
});

test('foreign names are refused before paths and methods are looked at', () => {
  const wrong = { method: 'TRACE', url: '/elsewhere' };
  expect(statusOf({ host: 'evil.example' }, wrong)).toBe(403);
  expect(statusOf({ host: 'localhost' }, wrong)).toBe(404);
  expect(statusOf({ host: 'localhost' }, { method: 'TRACE' })).toBe(405);
});

test('a POST needs JSON that is neither packed nor too long; what has no body is not asked for it', () => {
  const json = { 'content-type': 'application/json' };
  const status = (headers: Record<string, string>, method = 'POST') =>
    refuseContent(head(headers, { method }), { maxBodyBytes: 10, isJson: isJsonContentType })?.status;
  expect(status(json)).toBeUndefined();
  expect(status({ ...json, 'content-length': '10' })).toBeUndefined();
  expect(status({ ...json, 'content-length': '11' })).toBe(413);
  expect(status({ ...json, 'content-encoding': 'identity' })).toBeUndefined();
  expect(status({ ...json, 'content-encoding': 'br' })).toBe(415);
  expect(status({})).toBe(415);
  expect(status({}, 'GET')).toBeUndefined();
  expect(status({}, 'DELETE')).toBeUndefined();
});
