import { expect, test } from 'vitest';
import { turnProgramOf } from './program-table.ts';

const turn = {
  agent: 'rosa',
  argv: ['./answer.sh', '-v'],
  cwd: '/',
  messages: [],
  prompt: 'a prompt',
  text: 'what is new?',
  session: undefined,
  runDirectory: '/run',
};
const output = { code: 0, stdout: 'nothing\n', stdoutHead: '', cutBytes: 0, stderr: '', file: undefined };

test('A program that is not known gets the text on standard input, and its standard output is the answer.', () => {
  const program = turnProgramOf(turn.argv);
  expect(program.command(turn)).toEqual({ argv: turn.argv, stdin: 'what is new?' });
  expect(program.answer(output)).toEqual({ text: 'nothing' });
});

test('An answer that was cut says so.', () => {
  const program = turnProgramOf(turn.argv);
  expect(program.answer({ ...output, cutBytes: 12 }).text).toBe(
    '[12 bytes before this were cut off]\nnothing\n',
  );
});
