import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signalbox, startDaemon } from '../support/cli/command-line.ts';

let broker: Awaited<ReturnType<typeof startTestBroker>>;
beforeAll(async () => {
  broker = await startTestBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

test('worker echo answers asks and tasks with what they say, takes notes, shows its state, and ends cleanly.', async () => {
  const token = await broker.token('echo-1');
  const env = { SIGNALBOX_URL: broker.url, SIGNALBOX_TOKEN: token };
  await using ann = await connectBroker({ url: broker.url, token: await broker.token('ann'), agent: 'ann' });
  await ann.deliver({ to: 'echo-1', kind: 'note', id: 'early', body: 'before it was there' });
  await using echo = await startDaemon(['worker', 'echo', '--delay', '10m'], { env });
  expect(echo.ready).toEqual({
    ...{ agent: 'echo-1', address: 'echo-1', role: 'worker', url: broker.url, pid: echo.pid },
  });
  const body = { big: [1, 'two', null] };
  const cancelling = new AbortController();
  const given = ann.request('echo-1', 'ask', 'given up', {
    timeoutMs: 60_000,
    signal: cancelling.signal,
  });
  const answers = ['ask', 'task'].map((kind) => ann.request('echo-1', kind, body, { timeoutMs: 60_000 }));
  const watcher = await connectBroker({
    url: broker.url,
    token: await broker.operatorToken(),
    agent: 'operator',
  });
  await using _watching = watcher;
  const seen = async () => {
    const connected = await watcher.listConnected({ withStatus: true });
    const { status, inbox } = connected.find(({ agent }) => agent === 'echo-1') ?? {};
    return { status, inbox };
  };
  await expect.poll(seen).toEqual({
    status: { worker: 'echo', state: 'working' },
    inbox: { unread: 3, held: 3 },
  });
  cancelling.abort();
  expect(await given).toMatchObject({ status: 'cancelled' });
  await expect.poll(async () => (await seen()).inbox).toEqual({ unread: 2, held: 2 });
  // It answers what it has before it goes, and does not wait for its delay.
  const ended = echo.stop();
  for (const answer of answers) {
    expect(await answer).toMatchObject({ status: 'completed', reply: { kind: 'reply', json: body } });
  }
  expect(await ended).toBe(0);
  expect((await watcher.peek({ address: 'echo-1' })).map(({ id }) => id)).toEqual([]);
});

test('worker echo is never the operator, nor does it take a minting token.', async () => {
  const cases: [Record<string, string>, string][] = [
    [{ SIGNALBOX_TOKEN: await broker.operatorToken() }, 'this is a token of an operator'],
    [{ SIGNALBOX_TOKEN: await broker.token('ci-*') }, 'a minting token is for no agent'],
  ];
  const runs = cases.map(async ([env, message]) => {
    const run = await signalbox(['worker', 'echo'], { env: { SIGNALBOX_URL: broker.url, ...env } });
    expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
    expect(run.stderr).toContain('signalbox token issue');
  });
  await Promise.all(runs);
});
