import { expect, test } from 'vitest';
import { takeChips, wordsOf } from './query.ts';

const keys = ['agent', 'tool'];

test('A text has chips and words, and a chip at its end may still be typed.', () => {
  expect(takeChips('notes agent:rob tool:files', keys, false)).toEqual({
    chips: { agent: 'rob' },
    rest: 'notes tool:files',
  });
  expect(takeChips('notes tool:files', keys, true)).toEqual({ chips: { tool: 'files' }, rest: 'notes ' });
  expect(takeChips('agent:"rob the first" ', keys, false)).toEqual({
    chips: { agent: 'rob the first' },
    rest: '',
  });
  expect(takeChips('http://a other:b agent: ', keys, true)).toEqual({
    chips: {},
    rest: 'http://a other:b agent: ',
  });
});

test('Words are what is no chip.', () => {
  expect(wordsOf(' release  notes agent:ro', keys)).toBe('release notes');
  expect(wordsOf('http://a', keys)).toBe('http://a');
});
