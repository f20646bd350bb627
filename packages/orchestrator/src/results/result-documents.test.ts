import { expect, test } from 'vitest';
import { documentsOf } from './result-documents.ts';

const id = 'abcdefghijklmnopqrst_-';

test('The JSON of a result holds all of it, and each block that is no text is found in it.', () => {
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png', 'x-vendor': { a: [1] } };
  const link = { type: 'resource_link', uri: 'file:///ä', name: 'a\nb' };
  const result = {
    content: [{ type: 'text', text: 'ü\n1' }, image, link],
    structuredContent: { a: '\ud800' },
    isError: true,
    _meta: { k: 1 },
  };
  const { json, blocks } = documentsOf(result, id);
  expect(JSON.parse(json.toString())).toEqual(result);
  expect(
    blocks.map(([at, begin, length]) => [at, JSON.parse(json.subarray(begin, begin + length).toString())]),
  ).toEqual([
    [1, image],
    [2, link],
  ]);
  expect(JSON.parse(documentsOf({ content: [] }, id).json.toString())).toEqual({ content: [] });
});

test('The text holds texts as they are, a line for each other block, and data that no text repeats.', () => {
  const structuredContent = { a: 1 };
  const text = (blocks: Record<string, unknown>[]) =>
    documentsOf({ content: blocks as { type: string }[], structuredContent }, id).text.toString();
  expect(
    text([
      { type: 'text', text: 'a\n' },
      { type: 'image', data: '', mimeType: 'image/png' },
    ]),
  ).toBe(
    `a\n\n[content block 1: image image/png, 49 bytes of JSON, at signalbox://result/${id}/content/1]\n` +
      '[structuredContent]\n{\n "a": 1\n}',
  );
  expect(text([{ type: 'text', text: '{"a":1}' }])).toBe('{"a":1}');
  expect(text([{ type: 'text', text: '{\n  "a": 1\n}' }])).toBe('{\n  "a": 1\n}');
  expect(text([{ type: 'resource', resource: { uri: 'a:1', text: 'inside' } }])).toContain(
    '[resource a:1]\ninside',
  );
});

test('The kinds of content are counted.', () => {
  const blocks = [
    { type: 'text', text: '' },
    { type: 'text', text: '' },
    { type: 'audio', mimeType: 'audio/wav' },
  ];
  expect(documentsOf({ content: blocks, structuredContent: 1 }, id).kinds).toEqual({
    text: 2,
    'audio audio/wav': 1,
    structuredContent: 1,
  });
});

test('What a result holds very often does not make its text much longer than the result.', () => {
  let nested: unknown = Array(5000).fill(0);
  for (let level = 0; level < 200; level++) nested = [nested];
  const blocks = Array.from({ length: 20_000 }, (_, at) => ({ type: `t${at}` }));
  const result = { content: blocks, structuredContent: nested };
  const { text, json, kinds, blocks: found } = documentsOf(result, id);
  expect(text.length).toBeLessThan(json.length);
  expect(text.toString()).toContain('[19744 more content blocks, which only the JSON of the result holds]');
  expect(found).toHaveLength(256);
  expect(Object.keys(kinds)).toHaveLength(101);
  expect(kinds.other).toBe(19_901);
});
