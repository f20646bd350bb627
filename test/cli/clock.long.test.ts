import { connectBroker } from '@signalbox/client';
import { startTestBroker, testClock } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const day = 24 * 60 * 60 * 1000;

test('An operator sees a leap of the clock and what it holds back, and makes the broker trust its clock.', async () => {
  const { now, monotonic, step } = testClock();
  await using broker = await startTestBroker({ now, monotonic });
  await using rosa = await connectBroker({
    url: broker.url,
    token: await broker.token('rosa'),
    agent: 'rosa',
  });
  await rosa.deliver({ to: 'rosa', kind: 'task', body: 1 });
  await rosa.deliver({ to: 'rosa', kind: 'note', body: 2 });
  await rosa.deliver({ to: 'rosa', kind: 'note', body: 3, ttlMs: 30 * day });
  const clock = (...args: string[]) => signalbox(['clock', ...args, '--data', broker.dataDir]);

  expect((await clock('show')).stdout).toContain('the broker trusts its clock');
  step(8 * day);
  expect(jsonOf(await clock('show', '--json'))).toEqual({
    hold: { from: now() - 8 * day, to: now(), at_start: false, left_ms: 300_000, requests: 1, messages: 1 },
  });
  const shown = await clock('show');
  expect(shown.stdout).toContain('leapt by 8 d');
  expect(shown.stdout).toContain('Held back: 1 request, 1 other message.');

  const { token } = await broker.broker.issueToken({ agent: 'walt', role: 'worker' });
  const refused = await signalbox(['clock', 'accept', '--url', broker.url], {
    env: { SIGNALBOX_TOKEN: token },
  });
  expect(refused.code).toBe(77);
  const accepted = await clock('accept');
  expect(accepted.stdout).toContain('These messages expire now: 1 request, 1 other message.');
  expect(jsonOf(await clock('accept', '--json'))).toEqual({ accepted: null });
  await using subscription = await rosa.subscribe();
  const kinds: string[] = [];
  for await (const { kind } of subscription.messages) {
    kinds.push(kind);
    if (kinds.length === 2) break;
  }
  expect(kinds.sort()).toEqual(['note', 'undeliverable']);

  // A weekend without a broker: nobody can tell it from a leap, and the text does not say that it was one.
  await broker.broker.stop();
  step(3 * day);
  await broker.restart();
  const started = (await clock('show')).stdout;
  expect(started).toContain('found its clock 3 d ahead when it started');
  expect(started).toContain('Either no broker ran in that time, or the clock leapt.');
});
