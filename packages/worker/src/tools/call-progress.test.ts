import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ToolProgress } from '../executor/tool-call.ts';
import { startCallProgress } from './call-progress.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function recorded(heartbeatMs = 15_000) {
  const sent: ToolProgress[] = [];
  return { sent, progress: startCallProgress(heartbeatMs, (one) => sent.push(one)) };
}

test('a silent call gives a sign of life every 15 s, with a number that grows', async () => {
  const { sent, progress } = recorded();
  vi.advanceTimersByTime(45_000);
  expect(sent.map((one) => one.message)).toEqual([
    'still running after 15 s',
    'still running after 30 s',
    'still running after 45 s',
  ]);
  expect(sent[1]!.progress).toBeGreaterThan(sent[0]!.progress);
  expect(sent[2]!.progress).toBeGreaterThan(sent[1]!.progress);
  await progress.end();
});

test('what the server reports goes out as it is and puts the next sign of life off', async () => {
  const { sent, progress } = recorded();
  vi.advanceTimersByTime(14_000);
  progress.report({ progress: 3, total: 10, message: 'three' });
  vi.advanceTimersByTime(14_000);
  expect(sent).toEqual([{ progress: 3, total: 10, message: 'three' }]);
  vi.advanceTimersByTime(1_000);
  expect(sent[1]).toMatchObject({ total: 10, message: 'still running after 29 s' });
  progress.report({ progress: 4, total: 10 });
  expect(sent[2]).toEqual({ progress: 4, total: 10 });
  await progress.end();
});

test('equal numbers of a server stay equal, and its own fields stay', async () => {
  const { sent, progress } = recorded();
  const reports = [{ progress: 5 }, { progress: 5, message: 'again', _meta: { 'vendor/step': 2 } }];
  for (const report of reports) progress.report(report);
  expect(sent).toEqual(reports);
  await progress.end();
});

test('a number that a sign of life has gone beyond is raised a little', async () => {
  const { sent, progress } = recorded();
  progress.report({ progress: 5 });
  vi.advanceTimersByTime(15_000);
  progress.report({ progress: 5, message: 'again' });
  progress.report({ progress: 6 });
  const [first, alive, again, next] = sent.map((one) => one.progress) as [number, number, number, number];
  expect(first).toBe(5);
  expect(alive).toBeGreaterThan(first);
  expect(again).toBeGreaterThan(alive);
  expect(next).toBe(6);
  await progress.end();
});

test('nothing is sent after the end', async () => {
  const { sent, progress } = recorded();
  progress.report({ progress: 1 });
  await progress.end();
  progress.report({ progress: 2 });
  vi.advanceTimersByTime(60_000);
  expect(sent).toEqual([{ progress: 1 }]);
});
