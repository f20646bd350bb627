import { expect, it } from 'vitest';
import { Waiters } from './waiters.ts';

const never = new AbortController().signal;

it('hands the next value to everyone who waits', async () => {
  const waiters = new Waiters<number>();
  const waiting = [waiters.wait(60_000, never), waiters.wait(60_000, never)];
  waiters.release(1);
  waiters.release(2);
  expect(await Promise.all(waiting)).toEqual([1, 1]);
});

it('shortens the waits that have begun, and none that begin later', async () => {
  const waiters = new Waiters<number>();
  const early = waiters.wait(60_000, never);
  waiters.endWithin(1);
  const late = waiters.wait(60_000, never);
  expect(await early).toBeUndefined();
  waiters.release(1);
  expect(await late).toBe(1);
});

it('lets nobody wait past their time, their abort, or the end', async () => {
  const waiters = new Waiters<number>();
  const abort = new AbortController();
  const waiting = [
    waiters.wait(1, never),
    waiters.wait(60_000, abort.signal),
    waiters.wait(60_000, never),
    waiters.wait(0, never),
  ];
  abort.abort();
  await waiting[0];
  waiters.close();
  expect(await Promise.all([...waiting, waiters.wait(60_000, never)])).toEqual(Array(5).fill(undefined));
});
