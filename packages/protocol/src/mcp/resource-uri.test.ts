import { expect, test } from 'vitest';
import { isNamedUri, namedUri, parseNamedUri, whyNotNormal } from './resource-uri.ts';

test.each([
  'file:///srv/docs/a.md',
  'file:///srv/docs/.hidden/a..b/...',
  'demo://resource/dynamic/text/7',
  'memo:notes',
  'https://example.com/a?b=c%20d#e',
  'https://example.com',
  'urn:isbn:0451450523',
  'test://dökument/100%25',
  'postgres://db:5432/Public/Table',
])('%s is in its normal form.', (uri) => {
  expect(whyNotNormal(uri)).toBeUndefined();
});

test.each([
  'file:///srv/docs/../secret',
  'file:///srv/docs/./a',
  'file:///srv/docs/..',
  'memo:../secret',
  'file:///srv/docs/x?/../../secret',
  'file:///srv/docs/..;x/secret',
  'file:///srv/docs/%2e%2e/secret',
  'file:///srv/docs/.%2E/secret',
  'file:///srv/docs%2fsecret',
  'file:///srv/docs%5Csecret',
  'file:///srv/docs\\..\\secret',
  'file:///srv/docs/%252e%252e/secret',
  'file:///srv/docs/%41',
  'file:///srv/docs/%00',
  'file:///srv/docs/%e4',
  'file:///srv/docs/100%',
  'File:///srv/docs/a',
  'https://Example.com/a',
  'https://example.com:443/a',
  'https://0x7f.1/a',
  'file://localhost/srv/docs/a',
  'demo://Host/a',
  ' file:///srv/docs/a',
  'file:///srv/docs/a\n',
  'file:///srv/docs/a\u200b',
  '/srv/docs/a',
  '',
  `file:///${'a'.repeat(4096)}`,
])('%j is not in its normal form.', (uri) => {
  expect(whyNotNormal(uri)).toEqual(expect.any(String));
});

test('A named URI leads back to its server and its URI, for every name of a server.', () => {
  for (const server of ['files', 'a/b', 'ä b', '%2e']) {
    const named = namedUri(server, 'file:///a/b?c');
    expect(parseNamedUri(named)).toEqual({ server, uri: 'file:///a/b?c' });
    expect(isNamedUri(named)).toBe(true);
  }
  expect(isNamedUri('file:///a')).toBe(false);
});

test.each([
  'signalbox://files',
  'signalbox://files/',
  'signalbox://a%62c/file:///x',
  'signalbox://%/x',
  'file:///a',
])('%s names no resource of a server.', (uri) => {
  expect(parseNamedUri(uri)).toBeUndefined();
});
