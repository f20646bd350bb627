import { maxTokenLength } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { readFirstLine } from './face-lines.ts';

const hello = { signalbox_face: 1, consumer: 'c'.repeat(22) };
const read = (line: object) => readFirstLine(JSON.stringify(line));

test('a first line is a hello or a question of a hook, with a token of any length that a token may have', () => {
  const token = 'x'.repeat(maxTokenLength);
  expect(read({ ...hello, token })).toEqual({ ...hello, token, options: {} });
  expect(read({ signalbox_hint: 1, agent: 'rosa', token })).toMatchObject({ agent: 'rosa', token });
});

test('any other first line is refused with the field that is wrong, and without the token', () => {
  const token = 'x'.repeat(maxTokenLength + 1);
  for (const [line, field] of [
    [{ ...hello, token }, "'token'"],
    [{ ...hello, token, agent: 'No Id' }, "'agent'"],
    [{ signalbox_hint: 1, token: 'x' }, "'agent'"],
    [{ ...hello, signalbox_face: 2, token: 'x' }, "'signalbox_face'"],
    [{ ...hello, token: 'x', options: { turn: { seqs: [1], thread: 'a b' } } }, "'options.turn.thread'"],
  ] as const) {
    expect(() => read(line)).toThrow(
      expect.objectContaining({ code: 'bad_hello', message: expect.stringContaining(field) }),
    );
    expect(() => read(line)).not.toThrow(token);
  }
  expect(() => readFirstLine('hello')).toThrow('not JSON');
});
