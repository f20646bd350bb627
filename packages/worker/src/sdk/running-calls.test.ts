import type { CancelSignal } from '@signalbox/client';
import { expect, test } from 'vitest';
import { RunningCalls } from './running-calls.ts';

const untilAborted = (signal: CancelSignal) =>
  new Promise<unknown>((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason));
  });

test('a call is ended alone, or with all others, also those that come after', async () => {
  const running = new RunningCalls();
  const [first, second] = [running.start(untilAborted), running.start(untilAborted)];
  first.abort('enough');
  expect(await first.answer).toBe('enough');
  running.cancelAll();
  expect(await second.answer).toBeInstanceOf(DOMException);
  expect(await running.start(untilAborted).answer).toBeInstanceOf(DOMException);
  await running.settled();
});

test('a call that fails counts as ended', async () => {
  const running = new RunningCalls();
  const { answer } = running.start(() => Promise.reject(new Error('no')));
  await expect(answer).rejects.toThrow('no');
  await running.settled();
});
