import { expect, test } from 'vitest';
import { keptText, turnText } from './turn-text.ts';

const turn = { id: 'm1', from: 'walt', kind: 'ask', since: 1_000 };

test('A turn is told by its message, its age, and what distinguishes it: further messages, a thread of its own, open uses of tools.', () => {
  expect(turnText({ ...turn, thread: 'm1' }, 61_000)).toBe('ask m1 of walt, for 60 s');
  expect(turnText({ ...turn, messages: 3, thread: 'T' }, 500)).toBe(
    'ask m1 of walt and 2 more, thread T, for 0 s',
  );
  const calls = [
    { title: 'make\n\x1b[2J', status: 'in_progress' },
    { title: 'x'.repeat(100), status: 'pending' },
  ];
  const text = turnText({ ...turn, calls }, 2_000);
  expect(text).toMatch(/^ask m1 of walt, for 1 s: \[in_progress\] make \\x1b\[2J, \[pending\] x{20,60}…?$/);
});

test('A kept process is told by its id, its thread and its age.', () => {
  expect(keptText({ pid: 7, thread: 'T', since: 1_000 }, 61_000)).toBe('process 7 for thread T, for 60 s');
});
