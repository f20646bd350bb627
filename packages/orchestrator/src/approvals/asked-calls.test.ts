import type { FoundState } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { isCallerGone } from './asked-calls.ts';

/** Asks about a caller. The broker gives these answers one after the other, and a second passes with each of them. */
async function ask(answers: (FoundState | Error)[], abort = new AbortController()) {
  let now = 0;
  const find = async () => {
    now += 1000;
    const answer = answers.shift();
    if (answer === undefined) abort.abort();
    if (answer instanceof Error) throw answer;
    return [answer ?? ('orphaned' as const)];
  };
  const deps = { client: { find }, comesBackWithinMs: 3000, monotonic: () => now, log: () => {} };
  return await isCallerGone(deps, { agent: 'rosa', requestId: 'r1' }, abort.signal);
}

test('A caller is gone if its inbox is not held for long enough; without an answer of the broker nobody knows.', async () => {
  expect(await ask(['open'])).toBe(false);
  expect(await ask(['orphaned', 'orphaned', 'open'])).toBe(false);
  expect(await ask(['orphaned', 'orphaned', 'orphaned'])).toBe(true);
  const lost = new Error('the connection was lost');
  expect(await ask([lost, lost, lost, lost, 'open'])).toBe(false);
  expect(await ask(['orphaned'])).toBeUndefined();
});
