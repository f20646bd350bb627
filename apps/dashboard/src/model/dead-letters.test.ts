import type { DeadLetter } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { readBehind } from './dead-letters.ts';

/** Returns `count` dead letters, and the pages of them that were read behind the first one. */
function letters(count: number) {
  const all = Array.from({ length: count }, (_, at) => ({ seq: at + 1 }) as DeadLetter);
  const asked: number[] = [];
  const from = (after: number) => ({
    messages: all.slice(after, after + 1000),
    more: all.length > after + 1000,
  });
  const page = async (after: number) => {
    asked.push(after);
    return from(after);
  };
  return { all, asked, page, first: from(0) };
}

test('Where the first page is the same, the pages before the last one are not read again.', async () => {
  const before = letters(3500);
  const known = await readBehind(before.first, [], before.page);
  expect(known).toEqual({ messages: before.all, more: false });
  expect(before.asked).toEqual([1000, 2000, 3000]);
  const now = letters(4200);
  expect(await readBehind(now.first, known.messages, now.page)).toEqual({ messages: now.all, more: false });
  expect(now.asked).toEqual([3000, 4000]);
});

test.each([0, 1, 999, 1000])('%i dead letters are one page.', async (count) => {
  const few = letters(count);
  expect(await readBehind(few.first, few.all, few.page)).toEqual({ messages: few.all, more: false });
  expect(few.asked).toEqual([]);
});

test('Of very many dead letters, the first ten thousand are read.', async () => {
  const many = letters(12_000);
  const { messages, more } = await readBehind(many.first, [], many.page);
  expect([messages.length, more]).toEqual([10_000, true]);
  many.asked.length = 0;
  await readBehind(many.first, messages, many.page);
  expect(many.asked).toEqual([9000]);
});
