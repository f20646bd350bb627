import { expect, test, vi } from 'vitest';
import { IdempotentResults } from './idempotent-results.ts';

test('A command that comes again under its key runs once, and both hear its result.', async () => {
  const results = new IdempotentResults();
  let runs = 0;
  const run = async () => ++runs;
  expect(await Promise.all([results.once('k', 'drop 1', run), results.once('k', 'drop 1', run)])).toEqual([
    1, 1,
  ]);
  expect(await results.once('other', 'drop 1', run)).toBe(2);
});

test('A key of another command is refused, and one whose command failed is good again.', async () => {
  const results = new IdempotentResults();
  await results.once('k', 'drop 1', async () => 1);
  await expect(results.once('k', 'drop 2', async () => 2)).rejects.toMatchObject({ code: 'key_reused' });
  await expect(results.once('f', 'drop 1', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await results.once('f', 'drop 1', async () => 3)).toBe(3);
});

test('A secret answer is forgotten after a minute, and not that its command was run.', async () => {
  vi.useFakeTimers();
  const results = new IdempotentResults();
  let runs = 0;
  const issue = () => results.once('k', 'issue', async () => `secret ${++runs}`, { isSecret: true });
  expect([await issue(), await issue()]).toEqual(['secret 1', 'secret 1']);
  await vi.advanceTimersByTimeAsync(60_000);
  await expect(issue()).rejects.toMatchObject({ code: 'key_reused' });
  expect(runs).toBe(1);
  vi.useRealTimers();
});
