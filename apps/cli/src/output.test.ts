import { expect, test } from 'vitest';
import { oneLine, tableLines, visible } from './output.ts';

test('Control characters and changes of direction are written out; line ends and tabs are kept.', () => {
  expect(visible('a\x1b[2Jb\x07\x9b31m\x7f')).toBe('a\\x1b[2Jb\\x07\\x9b31m\\x7f');
  expect(visible('safe\rover')).toBe('safe\\x0dover');
  expect(visible('\u202egpj.exe')).toBe('\\u202egpj.exe');
  expect(visible('one\r\ntwo\n\tthree 日本 👩‍🚀')).toBe('one\r\ntwo\n\tthree 日本 👩‍🚀');
});

test('A cell that steers the terminal neither does so nor breaks the columns.', () => {
  expect(tableLines(['A', 'B'], [['\x1b[31m', 'x']])).toEqual(['A         B', '\\x1b[31m  x']);
  expect(oneLine('two\nlines\x1b]0;title\x07', 40)).toBe('two lines\\x1b]0;title\\x07');
});

test('A table of very many rows is laid out.', () => {
  expect(tableLines(['A'], Array<string[]>(200_000).fill(['x']))).toHaveLength(200_001);
});
