import { expect, test } from 'vitest';
import { quotedLines, visible, visibleLine } from './visible-text.ts';

test('Control characters and changes of direction are written out; line ends and tabs are kept.', () => {
  expect(visible('a\x1b[2Jb\x07\x9b31m\x7f')).toBe('a\\x1b[2Jb\\x07\\x9b31m\\x7f');
  expect(visible('safe\rover')).toBe('safe\\x0dover');
  expect(visible('\u202egpj.exe')).toBe('\\u202egpj.exe');
  expect(visible('one\r\ntwo\n\tthree 日本 👩‍🚀')).toBe('one\r\ntwo\n\tthree 日本 👩‍🚀');
});

test('Invisible characters are written out: tags, zero width, fillers and variation selectors.', () => {
  expect(visible('a\u{e0041}\u{e007f}b')).toBe('a\\u{e0041}\\u{e007f}b');
  expect(visible('pay\u200bpal \ufeffx\u00ady\u2060z')).toBe('pay\\u200bpal \\ufeffx\\xady\\u2060z');
  expect(visible('\u115f\u3164\u034f\u2028\u2029')).toBe('\\u115f\\u3164\\u034f\\u2028\\u2029');
  expect(visible('❤\ufe0f\ufe0f\u{e0100} 7\ufe0f')).toBe('❤\ufe0f\\ufe0f\\u{e0100} 7\\ufe0f');
});

test('Emoji and scripts that join their letters keep what joins them.', () => {
  for (const text of ['❤️', '7️⃣', '👩🏽‍🚀', '🏳️‍🌈', 'می\u200cخواهم', 'क्\u200dष'])
    expect(visible(text)).toBe(text);
});

test('A text on one line keeps no line ends.', () => {
  expect(visibleLine('a\r\nb\tc\u0085d')).toBe('a\\x0d\\x0ab\tc\\x85d');
});

test('Quoting a text puts a bar before each line, for every character that ends a line.', () => {
  expect(quotedLines('a\r\nb\vc\u2028d\x1b')).toEqual(['| a', '| b', '| c', '| d\\x1b']);
});
