import { expect, test } from 'vitest';
import { readableJson } from './readable-json.ts';

test('JSON is read, and what is none, too deep or too large, or has a number that reading changes, is shown as it is.', () => {
  expect(readableJson('{"a":[1,"}"]}')).toEqual({ a: [1, '}'] });
  expect(readableJson('{"a"')).toBeUndefined();
  expect(readableJson('{"id":12345678901234567890}')).toBeUndefined();
  expect(readableJson('[1234567890123456, 1e3]')).toEqual([1234567890123456, 1000]);
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  expect(readableJson(nested(32))).toBeDefined();
  expect(readableJson(nested(33))).toBeUndefined();
  expect(readableJson(nested(30_000))).toBeUndefined();
  expect(readableJson(`["${']'.repeat(30_000)}\\"",${nested(30_000)}]`)).toBeUndefined();
  expect(readableJson(JSON.stringify(Array(4000).fill(0)))).toHaveLength(4000);
  expect(readableJson(JSON.stringify(Array(5000).fill(0)))).toBeUndefined();
});
