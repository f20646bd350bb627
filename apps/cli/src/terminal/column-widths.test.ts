import { expect, test } from 'vitest';
import { type Column, columnWidths, fittingWidths } from './column-widths.ts';

const texts = (...widths: number[]): Column[] => widths.map((width) => ({ width, isWhole: false }));

test.each([
  ['a table that fits stays as it is', texts(10, 60), 72, [10, 60]],
  ['the widest column is cut first', texts(10, 80), 72, [10, 60]],
  ['columns that become equally wide are cut together', texts(50, 60, 5), 79, [35, 35, 5]],
  ['a column keeps some characters', texts(30, 30), 10, [12, 12]],
  ['a narrow column is never cut', texts(8, 9), 10, [8, 9]],
  ['a column without a terminal is not cut', texts(500), Number.POSITIVE_INFINITY, [500]],
])('%s', (_, columns, terminalWidth, widths) => {
  expect(columnWidths(columns, terminalWidth)).toEqual(widths);
});

test('A column that stays whole is not cut, however wide it is.', () => {
  expect(columnWidths([{ width: 64, isWhole: true }, ...texts(30)], 80)).toEqual([64, 14]);
});

test('Of the last columns, those are left out that would make the table wider than the terminal.', () => {
  expect(fittingWidths(texts(12, 30, 30), 40, 2)).toEqual([12, 12, 12]);
  expect(fittingWidths(texts(12, 30, 30), 39, 2)).toEqual([12, 25]);
  expect(fittingWidths(texts(12, 30, 30), 10, 1)).toEqual([12, 12]);
  expect(fittingWidths(texts(12, 30, 30), 10, 0)).toEqual([12, 12, 12]);
});
