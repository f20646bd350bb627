import { expect, test } from 'vitest';
import { cell, factLines, instant, oneLine, tableLines } from './output.ts';
import { textWidth } from './text-width.ts';

test('A cell with control characters neither steers the terminal nor breaks the columns.', () => {
  expect(tableLines(['A', 'B'], [['\x1b[31m', 'x']])).toEqual(['A         B', '\\x1b[31m  x']);
  expect(oneLine('two\nlines\x1b]0;title\x07', 40)).toBe('two lines\\x1b]0;title\\x07');
});

test('On a terminal rows stay on their lines: long texts are cut, and what people copy stays whole.', () => {
  const id = 'i'.repeat(30);
  const rows = [[id, '漢字 '.repeat(20), 'y'.repeat(50)]];
  const lines = tableLines(['ID', 'TEXT', 'WHY'], rows, { terminalWidth: 80 });
  expect(lines[1]).toMatch(/^i{30} {2}(漢字 )+.*… {2,3}y+…$/);
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(80);
  expect(tableLines(['ID', 'TEXT', 'WHY'], rows, { terminalWidth: Number.POSITIVE_INFINITY })[1]).toContain(
    'y'.repeat(50),
  );
});

test('A time is never cut, and on a terminal it is short enough to leave room.', () => {
  const now = Date.UTC(2026, 10, 30, 3, 52, 13, 516);
  expect(instant(now, now, false)).toBe('2026-11-30T03:52:13.516Z');
  expect(instant(now, now + 1000, true)).toBe('03:52:13Z');
  expect(instant(now, now + 86_400_000, true)).toBe('2026-11-30T03:52:13Z');
  const row = [instant(now, 0, true), ...['from', 'to', 'what', 'why'].map((text) => text.repeat(20))];
  const [, line] = tableLines(['TIME', 'FROM', 'TO', 'WHAT', 'OUTCOME'], [row], { terminalWidth: 80 });
  expect(line).toMatch(/^2026-11-30T03:52:13Z {2}from.*… {2}to.*… {2}what.*… {2}why.*…$/);
});

test('Wide characters do not move the columns after them.', () => {
  expect(
    tableLines(
      ['A', 'B'],
      [
        ['漢字', 'x'],
        ['abcd', 'x'],
      ],
    ),
  ).toEqual(['A     B', '漢字  x', 'abcd  x']);
});

test('Facts are aligned and never cut.', () => {
  const value = 'v'.repeat(500);
  expect(
    factLines([
      ['id', value],
      ['from', 'rosa'],
    ]),
  ).toEqual([`id    ${value}`, 'from  rosa']);
});

test('A table of very many rows is laid out.', () => {
  expect(tableLines(['A'], Array<string[]>(200_000).fill(['x']))).toHaveLength(200_001);
});

test('No cell looks like a row of its own or like two cells.', () => {
  const forged = 'a\n0:00  rosa\u2003ok\u200b';
  expect(cell(forged)).toBe('a\\x0a0:00 \\u0020rosa\\u2003ok\\u200b');
  expect(tableLines(['A', 'B'], [[forged, 'x']])).toHaveLength(2);
});
