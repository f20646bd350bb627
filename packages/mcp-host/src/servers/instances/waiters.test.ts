import { expect, it } from 'vitest';
import { Waiters } from './waiters.ts';

const never = new AbortController().signal;

it('hands the next value to everyone who waits', async () => {
  const room = new Waiters<number>();
  const waiting = [room.wait(60_000, never), room.wait(60_000, never)];
  room.admit(1);
  room.admit(2);
  expect(await Promise.all(waiting)).toEqual([1, 1]);
});

it('lets nobody wait past their time, their abort, or the end', async () => {
  const room = new Waiters<number>();
  const abort = new AbortController();
  const waiting = [
    room.wait(1, never),
    room.wait(60_000, abort.signal),
    room.wait(60_000, never),
    room.wait(0, never),
  ];
  abort.abort();
  await waiting[0];
  room.close();
  expect(await Promise.all([...waiting, room.wait(60_000, never)])).toEqual(Array(5).fill(undefined));
});
