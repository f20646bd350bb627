import { expect, test } from 'vitest';
import { matchesPattern } from '../names/star-pattern.ts';
import { mayBeOfTemplate, templateShape } from './uri-template.ts';

test.each([
  ['demo://text/{id}', 'demo://text/7'],
  ['test://template/{id}/data', 'test://template/123/data'],
  ['file:///{+path}', 'file:///a/b'],
  ['db://{host}{/path*}{?q}', 'db://h/a/b?q=1'],
  ['db://{host}{/path*}{?q}', 'db://h'],
  ['docs://{path*}', 'docs://a/b/c.md'],
  ['demo://fixed', 'demo://fixed'],
  ['{scheme}:x', 'a:x'],
])('%s can make %s.', (template, uri) => {
  expect(mayBeOfTemplate(template, uri)).toBe(true);
});

test.each([
  ['demo://text/{id}', 'demo://text/7/8'],
  ['demo://text/{id}', 'demo://blob/7'],
  ['test://template/{id}/data', 'test://template/123/date'],
  ['test://{id}/aa', 'test:///a'],
  ['demo://fixed', 'demo://fixed/more'],
  ['demo://fixed', 'xdemo://fixed'],
])('%s cannot make %s.', (template, uri) => {
  expect(mayBeOfTemplate(template, uri)).toBe(false);
});

test('A pattern that matches the shape of a template matches all its URIs; a narrower one matches none of it.', () => {
  expect(matchesPattern('file:///srv/docs/*', templateShape('file:///srv/docs/{+path}'))).toBe(true);
  expect(matchesPattern('file:///srv/docs/*', templateShape('file:///{+path}'))).toBe(false);
  expect(matchesPattern('file:///{+path}', templateShape('file:///{+path}'))).toBe(false);
  expect(matchesPattern('demo://*/a', templateShape('demo://{x}/{y}'))).toBe(false);
});

test('A template of many expressions is matched at once.', () => {
  const template = `x:${'{+a}a'.repeat(800)}b`;
  expect(mayBeOfTemplate(template, `x:${'a'.repeat(4000)}`)).toBe(false);
});
