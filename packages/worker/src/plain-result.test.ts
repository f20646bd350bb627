import { mcpReplySchema } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { isPlainResult } from './executor/plain-result.ts';

const content = [{ type: 'text', text: 'hello', annotations: { priority: 1 } }];
const plain = { success: true, text: 'hello', content };
const odd = [
  undefined,
  null,
  true,
  0,
  1e300,
  '',
  'x',
  [],
  ['x'],
  {},
  { type: 1 },
  JSON.parse('{"__proto__":{"a":1}}'),
];
const fields = ['success', 'text', 'content', 'isError', '_meta', 'structuredContent', 'vendor', '__proto__'];

test('what nearly all tools answer is plain', () => {
  for (const result of [
    plain,
    { ...plain, isError: true, success: false },
    { ...plain, content: [], structuredContent: [1, null], _meta: { 'a/b': 1 }, vendor: null },
    { ...plain, text: 'a "quote", a \\ and \ud800' },
  ]) {
    expect(isPlainResult({ result })).toBe(true);
  }
});

test('no reply is plain that the schema would not take for a result', () => {
  const results = fields.flatMap((field) =>
    odd.map((value) => JSON.parse(JSON.stringify({ ...plain, [field]: value }))),
  );
  const blocks = odd.map((block) => ({ ...plain, content: [...content, block] }));
  const replies: unknown[] = [...results, ...blocks, ...odd].map((result) => ({ result }));
  const more = [...odd, { result: plain, error: { code: 'internal' } }, { result: plain, manifest: {} }];
  let plainOnes = 0;
  for (const reply of [...replies, ...more]) {
    if (!isPlainResult(reply)) continue;
    plainOnes++;
    const parsed = mcpReplySchema.safeParse(reply);
    expect(parsed.success && 'result' in parsed.data).toBe(true);
  }
  expect(plainOnes).toBeGreaterThan(20);
});
