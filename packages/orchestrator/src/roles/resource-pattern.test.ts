import { expect, test } from 'vitest';
import { matchesResource, mayMeanResourceOf } from './resource-pattern.ts';

test('A pattern means a resource by its server and its URI.', () => {
  expect(matchesResource('fil*:file:///docs/*', 'files', 'file:///docs/a')).toBe(true);
  expect(matchesResource('files:file:///docs/*', 'mail', 'file:///docs/a')).toBe(false);
  expect(matchesResource('files:file:///docs/*', 'files', 'file:///other')).toBe(false);
  expect(matchesResource('files', 'files', 'files')).toBe(false);
});

test.each([
  ['files:file:///docs/*', 'file:///{+path}', true],
  ['files:file:///*', 'file:///docs/{name}.md', true],
  ['files:*.md', 'file:///docs/{name}.md', true],
  ['files:file:///docs/a.md', 'file:///docs/{name}.md', true],
  ['files:file:///docs/a.md', 'file:///docs/{name}.txt', false],
  ['files:*.txt', 'file:///docs/{name}.md', false],
  ['files:db://*', 'file:///{+path}', false],
  ['mail:*', 'file:///{+path}', false],
  ['files:file:///docs/*', 'file:///docs/fixed', true],
  ['files:file:///src/*', 'file:///docs/fixed', false],
])('Whether %s may mean what %s makes is told by beginning and end.', (pattern, template, may) => {
  expect(mayMeanResourceOf(pattern, 'files', template)).toBe(may);
});
