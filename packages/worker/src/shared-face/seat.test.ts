import { expect, test } from 'vitest';
import { Seat } from './seat.ts';

const turn = { token: 'token', turn: { seqs: [1], group: undefined, thread: undefined } };

test('A seat has lost a shim that went in the middle of a turn, also if another one came, and none that ended with its turn.', async () => {
  const enter = (seat: Seat): (() => void) => {
    const session = { end: async () => seat.leave(session) };
    seat.enter(session);
    return () => seat.leave(session);
  };
  const [whole, lost] = [new Seat(4), new Seat(4)];
  for (const seat of [whole, lost]) seat.begin(turn);
  enter(whole);
  const leave = enter(lost);
  leave();
  enter(lost);
  for (const seat of [whole, lost]) await seat.end();
  expect([whole.known, whole.hasLost]).toEqual([1, false]);
  expect([lost.known, lost.hasLost]).toEqual([1, true]);
});
