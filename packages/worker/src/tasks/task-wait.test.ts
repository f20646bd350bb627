import type { RequestOutcome } from '@signalbox/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TaskWait } from './task-wait.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes a wait whose questions to the orchestrator are collected, and never answered. */
function startWait() {
  const asked: unknown[] = [];
  const request = (_to: string, _kind: string, body: unknown) => {
    asked.push(body);
    return new Promise<RequestOutcome>(() => {});
  };
  return { asked, wait: new TaskWait({ client: { request }, orchestrator: 'orchestrator' }, 'r1') };
}

test('A call stays an ordinary one for 45 s, in which most have their results, unless it waits for a person: then it is a task at once.', async () => {
  const { asked, wait } = startWait();
  using _wait = wait;
  await vi.advanceTimersByTimeAsync(44_999);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  const begins = { op: 'task', task_id: 'r1', begins: true };
  expect(asked).toEqual([begins]);

  const hurried = startWait();
  using _hurried = hurried.wait;
  hurried.wait.hurry();
  await vi.advanceTimersByTimeAsync(0);
  expect(hurried.asked).toEqual([begins]);
});
