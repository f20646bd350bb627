import { expect, test } from 'vitest';
import { cell, oneLine, tableLines } from './output.ts';

test('A cell with control characters neither steers the terminal nor breaks the columns.', () => {
  expect(tableLines(['A', 'B'], [['\x1b[31m', 'x']])).toEqual(['A         B', '\\x1b[31m  x']);
  expect(oneLine('two\nlines\x1b]0;title\x07', 40)).toBe('two lines\\x1b]0;title\\x07');
});

test('A table of very many rows is laid out.', () => {
  expect(tableLines(['A'], Array<string[]>(200_000).fill(['x']))).toHaveLength(200_001);
});

test('No cell looks like a row of its own or like two cells.', () => {
  const forged = 'a\n0:00  rosa\u2003ok\u200b';
  expect(cell(forged)).toBe('a\\x0a0:00 \\u0020rosa\\u2003ok\\u200b');
  expect(tableLines(['A', 'B'], [[forged, 'x']])).toHaveLength(2);
});
