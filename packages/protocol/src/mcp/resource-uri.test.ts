import { expect, test } from 'vitest';
import { isNamedUri, namedUri, normalUri, parseNamedUri, whyNotNormal } from './resource-uri.ts';

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
])('%s is its own normal form.', (uri) => {
  expect(whyNotNormal(uri)).toBeUndefined();
  expect(normalUri(uri)).toBe(uri);
});

test.each([
  ['greeting://Bob', 'greeting://bob'],
  ['WordPress://posts/One', 'wordpress://posts/One'],
  ['slack://C012345/x', 'slack://c012345/x'],
  ['file:///notes/a b.txt', 'file:///notes/a%20b.txt'],
  ['https://Example.com/A', 'https://example.com/A'],
  ['memo:Notes', 'memo:Notes'],
  ['test://D%c3%96K/%e4%2D%41', 'test://d%C3%96k/%E4-A'],
  ['db://Ann:Secret@Host/a', 'db://Ann:Secret@Host/a'],
])('%s has the normal form %s.', (uri, normal) => {
  expect(whyNotNormal(uri)).toBeUndefined();
  expect(normalUri(uri)).toBe(normal);
  expect(normalUri(normal)).toBe(normal);
});

test.each([
  ['Greet*', 'greet*'],
  ['*.MD', '*.MD'],
  ['*://Bob/A*', '*://bob/A*'],
  ['Greeting://*B', 'greeting://*B'],
  ['https://*.Example.com/A b', 'https://*.example.com/A%20b'],
])('The pattern %s has the normal form %s.', (pattern, normal) => {
  expect(normalUri(pattern)).toBe(normal);
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
  'file:///srv/docs/%00',
  'file:///srv/docs/100%',
  'https://example.com:443/a',
  'https://0x7f.1/a',
  'file://localhost/srv/docs/a',
  'file:///srv/docs/%%34%31',
  'file:///srv/docs/%25%34%31',
  '%66ile:///srv/docs/a',
  'file:///srv/docs/a ',
  ' file:///srv/docs/a',
  'file:///srv/docs/a\n',
  'file:///srv/docs/a\u200b',
  '/srv/docs/a',
  '',
  `file:///${'a'.repeat(4096)}`,
])('%j has no normal form.', (uri) => {
  expect(whyNotNormal(uri)).toEqual(expect.any(String));
});

test('A named URI leads back to its server and its URI, for every name of a server.', () => {
  for (const server of ['files', 'a/b', 'ä b', '%2e']) {
    const named = namedUri(server, 'file:///a/b?c');
    expect(parseNamedUri(named)).toEqual({ server, uri: 'file:///a/b?c' });
    expect(isNamedUri(named)).toBe(true);
  }
  expect(isNamedUri('file:///a')).toBe(false);
  for (const uri of ['SIGNALBOX://x', 'ui://Signal%62ox/files/x']) expect(isNamedUri(uri)).toBe(true);
});

test('The named URI of a page is one of a page, too.', () => {
  expect(namedUri('a/b', 'ui://map/page.html')).toBe('ui://signalbox/a%2Fb/map/page.html');
  expect(parseNamedUri('ui://signalbox/a%2Fb/map/page.html')).toEqual({
    server: 'a/b',
    uri: 'ui://map/page.html',
  });
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
