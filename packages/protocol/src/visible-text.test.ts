import { expect, test } from 'vitest';
import { visible } from './visible-text.ts';

test('Control characters and changes of direction are written out; line ends and tabs are kept.', () => {
  expect(visible('a\x1b[2Jb\x07\x9b31m\x7f')).toBe('a\\x1b[2Jb\\x07\\x9b31m\\x7f');
  expect(visible('safe\rover')).toBe('safe\\x0dover');
  expect(visible('\u202egpj.exe')).toBe('\\u202egpj.exe');
  expect(visible('one\r\ntwo\n\tthree 日本 👩‍🚀')).toBe('one\r\ntwo\n\tthree 日本 👩‍🚀');
});
