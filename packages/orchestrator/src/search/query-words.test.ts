import { expect, test } from 'vitest';
import { queryWordsOf } from './query-words.ts';

test.each([
  ['what changed between the two branches', ['changed', 'between', 'two', 'branches']],
  ['send an email, and then send it again', ['send', 'email', 'again']],
  ['who is it for', ['who', 'is', 'it', 'for']],
  ['', []],
])('of %j the words %j are looked for', (query, words) => {
  expect(queryWordsOf(query)).toEqual(words);
});

test('of a very long query only the first words are', () => {
  expect(queryWordsOf(Array.from({ length: 99 }, (_, n) => `word${n}`).join(' '))).toHaveLength(16);
});
