import { expect, test } from 'vitest';
import { serversWords } from './servers-words.ts';

test('a long text keeps its beginning and its end, and says how much is left out; a short one is put on one line', () => {
  const text = serversWords(`cannot build:\n${'x'.repeat(2_000)} linker`);
  expect(text).toMatch(/^cannot build: x+ \[…1021 characters…\] x+ linker$/);
  expect(serversWords(' two\n  lines ')).toBe('two lines');
});

test('of an HTML page only the title is left, and nothing of a page whose title holds tags', () => {
  const page = (title: string) =>
    `HTTP 502: <!DOCTYPE html><html><title>${title}</title><p>a text</p></html>`;
  expect(serversWords(page('Bad gateway'))).toBe('HTTP 502: Bad gateway');
  expect(serversWords(page('Bad <b>gateway</b>'))).toBe('HTTP 502 with an HTML page');
  expect(serversWords('HTTP 400: a < b')).toBe('HTTP 400: a < b');
});
