import { expect, test } from 'vitest';
import { CallRegistry } from './call-registry.ts';

const call = { agent: 'rosa', requestId: 'r1', role: 'worker', tool: 'mcp_counter__count' };
const started = {
  ...call,
  server: 'counter',
  receivedAt: 100,
  startedAt: 150,
  wasStarted: true,
  isKept: false,
  isSettled: false,
};

test('a call that another process started keeps the times of that start when it is answered here', () => {
  const registry = new CallRegistry(() => 5_000);
  registry.add(call, started).ended('outcome_unknown', '{}');
  expect(registry.recent()).toMatchObject([
    { received_at: 100, started_at: 150, finished_at: 5_000, server: 'counter', outcome: 'outcome_unknown' },
  ]);
});

test('a call of this process has the times of this process', () => {
  let now = 200;
  const registry = new CallRegistry(() => now);
  const open = registry.add(call);
  expect(registry.active()).toMatchObject([{ state: 'queued', received_at: 200 }]);
  now = 300;
  open.running('counter');
  expect(registry.active()).toMatchObject([{ state: 'running', received_at: 200, started_at: 300 }]);
});

test('the calls that ended last are remembered, and of their replies as many as there is room for', () => {
  let now = 0;
  const registry = new CallRegistry(() => now, { calls: 3, replyBytes: 8 });
  const name = (n: number) => ({ ...call, requestId: `r${n}` });
  for (let n = 1; n <= 5; n++) {
    now = n;
    registry.add(name(n)).ended('ok', '[1]');
    expect(registry.knownSince).toBe([0, 0, 0, 2, 3][n - 1]);
    expect(registry.recent().map((one) => one.request_id)).toEqual(
      [n - 2, n - 1, n].filter((one) => one > 0).map((one) => `r${one}`),
    );
  }
  const finished = { state: 'finished', outcome: 'ok' };
  expect([2, 3, 4, 5].map((n) => registry.status(name(n)))).toEqual([
    undefined,
    finished,
    { ...finished, reply: [1] },
    { ...finished, reply: [1] },
  ]);
  registry.add(name(6)).ended('ok', '"too long to be kept"');
  expect([4, 5, 6].map((n) => registry.status(name(n)))).toEqual([finished, finished, finished]);
  registry.add(name(7)).ended('ok', '[2]');
  expect(registry.status(name(7))).toEqual({ ...finished, reply: [2] });
});

test('a request that is answered again has one record, its last', () => {
  const registry = new CallRegistry(() => 0);
  registry.add(call).ended('tool_timeout', '1');
  registry.add({ ...call, requestId: 'r2' }).ended('ok', '2');
  registry.add({ ...call, agent: 'walt' }).dropped();
  const again = registry.add(call);
  expect(registry.status(call)).toEqual({ state: 'queued' });
  again.running(undefined);
  expect(registry.status(call)).toEqual({ state: 'running' });
  again.ended('ok', '3');
  expect(registry.active()).toEqual([]);
  expect(registry.recent()).toMatchObject([{ request_id: 'r2' }, { request_id: 'r1', outcome: 'ok' }]);
  expect(registry.status(call)).toEqual({ state: 'finished', outcome: 'ok', reply: 3 });
  expect(registry.status({ agent: 'walt', requestId: 'r1' })).toBeUndefined();
});

test('an agent that calls much forgets its own calls, and not those of others', () => {
  const registry = new CallRegistry(() => 0, { calls: 4, replyBytes: 100 });
  const idsOf = (agent?: string) => registry.recent(agent).map(({ request_id }) => request_id);
  registry.add(call).ended('ok', '[1]');
  for (let n = 1; n <= 9; n++)
    registry.add({ ...call, agent: 'walt', requestId: `w${n}` }).ended('ok', '[2]');
  registry.add({ ...call, requestId: 'r2' }).ended('ok', '[3]');
  expect(idsOf('rosa')).toEqual(['r1', 'r2']);
  expect(idsOf()).toEqual(['r1', 'w8', 'w9', 'r2']);
  registry.add({ ...call, requestId: 'r3' }).ended('ok', '[4]');
  expect(idsOf()).toEqual(['w8', 'w9', 'r2', 'r3']);
});

test('an agent with long replies loses its own, and not those of others', () => {
  const registry = new CallRegistry(() => 0, { calls: 100, replyBytes: 20 });
  const replyOf = (key: { agent: string; requestId: string }) => {
    const status = registry.status(key);
    return status?.state === 'finished' ? status.reply : undefined;
  };
  const long = (n: number) => ({ ...call, agent: 'walt', requestId: `w${n}` });
  registry.add(call).ended('ok', '[1]');
  for (let n = 1; n <= 3; n++) registry.add(long(n)).ended('ok', '"12345678"');
  registry.add(long(4)).ended('ok', '"alone too long to be kept"');
  expect([call, long(3), long(4)].map(replyOf)).toEqual([[1], undefined, undefined]);
  registry.add(long(5)).ended('ok', '"12345678"');
  expect([call, long(5)].map(replyOf)).toEqual([[1], '12345678']);
  for (let n = 1; n <= 40; n++) registry.add({ ...call, agent: `a${n}` }).ended('ok', '[2]');
  expect(replyOf(long(5))).toBeUndefined();
});
