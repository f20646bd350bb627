import { leastInlineBytes } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { previewOf } from './preview.ts';

const id = 'abcdefghijklmnopqrst_-';
const facts = (text: string) => ({
  id,
  tool: 'mcp_log__read',
  text: Buffer.from(text),
  lines: text.split('\n').length,
  jsonBytes: text.length + 40,
  kinds: { text: 2, 'image image/png': 1 },
  until: Date.UTC(2026, 10, 24, 1, 2, 3),
});
const of = (text: string, result: object = {}) => previewOf({ content: [], ...result }, facts(text));
const beginOf = (text: string) => of(text).content[1]?.text;

test('A preview says how large the result is, of what kinds, until when it is kept and how it is read.', () => {
  const text = Array.from({ length: 2000 }, (_, at) => `line ${at}`).join('\n');
  const { content, isError, _meta } = of(text, { isError: true, _meta: { 'vendor/a': 1 } });
  expect(content[0]?.text).toBe(
    `The result of 'mcp_log__read' is too large to be shown here: 18,889 bytes of text in 2,000 lines (2 × text, image image/png). It is kept for you as signalbox://result/${id} until 2026-11-24 01:02 UTC at least. Read it with signalbox_result_read and the id ${id}: by line and lines, by offset and bytes, or with search. It begins:`,
  );
  expect(content[1]?.text).toBe(`${Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n')}\n`);
  // Some helpers of agents' libraries refuse other blocks, and the text with them: findings/files-in-results.sh.
  expect(content).toHaveLength(2);
  expect(isError).toBe(true);
  expect(_meta).toMatchObject({ 'vendor/a': 1, 'signalbox/kept_result': { bytes: 18_889, lines: 2000 } });
});

test('The begin is made of whole lines, or of whole characters of the first one.', () => {
  expect(beginOf(`${'x'.repeat(1500)}\n${'y'.repeat(1500)}`)).toBe(`${'x'.repeat(1500)}\n`);
  expect(beginOf('😀'.repeat(1000))).toBe('😀'.repeat(384));
  expect(beginOf('ab')).toBe('ab');
  expect(beginOf('')).toBeUndefined();
  expect(of('ab').content[0]?.text).toContain(' in 1 line (');
});

test('A result with data has a preview with data, and one without has none.', () => {
  expect(of('a', { structuredContent: { x: 1 } }).structuredContent).toMatchObject({
    signalbox_kept_result: { uri: `signalbox://result/${id}`, begin: 'a' },
  });
  expect(of('a')).not.toHaveProperty('structuredContent');
});

test('No preview of any result is longer than the least length of results that are kept.', () => {
  const kinds = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${'k'.repeat(99)}${at}`, 1]));
  const worst = previewOf(
    { content: [], structuredContent: {}, _meta: { a: 'x'.repeat(600) }, own: 'y'.repeat(400) },
    { ...facts('\u0001'.repeat(100_000)), tool: 't'.repeat(256), kinds },
  );
  expect(Buffer.byteLength(JSON.stringify(worst))).toBeLessThan(leastInlineBytes);
});
