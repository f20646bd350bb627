import { expect, test } from 'vitest';
import { cutText, textWidth } from './text-width.ts';

test.each([
  ['plain', 5],
  ['漢字', 4],
  ['👩‍💻', 2],
  ['é', 1],
])('%s takes %d columns.', (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

test('A text is cut at a whole character, and one that fits stays as it is.', () => {
  expect(cutText('0123456789', 10)).toBe('0123456789');
  expect(cutText('0123456789', 9)).toBe('01234567…');
  expect(cutText('漢字漢字', 6)).toBe('漢字…');
  expect(cutText('漢字漢字', 7)).toBe('漢字漢…');
  expect(cutText('ab👩‍💻cd', 5)).toBe('ab👩‍💻…');
});

test('A text of megabytes is cut without looking at all of it.', () => {
  expect(cutText('漢'.repeat(2_000_000), 5)).toBe('漢漢…');
});
