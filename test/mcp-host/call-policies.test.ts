import { toolCallError } from '@signalbox/protocol';
import { expect, it, vi } from 'vitest';
import { startPolicyServer } from '../support/mcp-host/call-policies-server.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

const secret = 'tok-canary-123456';

async function hosted() {
  const web = await startPolicyServer();
  const host = startTestHost({
    servers: { web: { ...web.config(), headers: { authorization: `Bearer ${secret}` } } },
  });
  await host.inventory();
  return {
    web,
    host,
    async [Symbol.asyncDispose]() {
      await host.close();
      await web[Symbol.asyncDispose]();
    },
  };
}

it('converts arguments where nothing is lost, and logs where, but not what', async () => {
  await using t = await hosted();
  expect(await call(t.host, 'mcp_web__typed', { count: '4711', ok: true })).toHaveProperty('result');
  expect(t.web.calls).toEqual([['typed', { count: 4711, ok: true }]]);
  const coerced = await t.host.seen('arguments_coerced');
  expect(coerced).toEqual({
    event: 'arguments_coerced',
    server: 'web',
    tool: 'typed',
    pointers: ['/count'],
  });
});

it('sends no call with arguments that do not fit, and says all that is wrong with them', async () => {
  await using t = await hosted();
  const outcome = await call(t.host, 'mcp_web__typed', { count: 'many', ok: 'perhaps' });
  expect(outcome).toMatchObject({
    error: { code: 'invalid_arguments', category: 'validation', may_have_run: false },
  });
  expect(JSON.stringify(outcome)).toMatch(/count.*ok/s);
  expect(t.web.calls).toEqual([]);
  expect(t.host.servers()[0]).toMatchObject({ calls: 0 });
});

it('asks the cache only after the arguments were checked and converted', async () => {
  await using t = await hosted();
  const caller = { agent: 'rosa', role: 'r' };
  const args = { answer: { ttlMs: 60_000 } };
  await call(t.host, 'mcp_web__read', args, { caller });
  await call(t.host, 'mcp_web__read', args, { caller });
  expect(t.web.calls).toHaveLength(1);
  expect(await call(t.host, 'mcp_web__typed', args, { caller })).toMatchObject({
    error: { code: 'invalid_arguments' },
  });
});

it('tells how many calls reached the server and how long they took', async () => {
  await using t = await hosted();
  expect(t.host.servers()[0]).toMatchObject({ calls: 0, circuit: 'closed', consecutiveFailures: 0 });
  expect(t.host.servers()[0]).not.toHaveProperty('p50Ms');
  await Promise.all([1, 2, 3].map((n) => call(t.host, 'mcp_web__write', { n })));
  const { calls, p50Ms = 0, p95Ms = 0 } = t.host.servers()[0]!;
  expect(calls).toBe(3);
  expect(p50Ms).toBeGreaterThan(0);
  expect(p95Ms).toBeGreaterThanOrEqual(p50Ms);
});

it('gives every failure a code, and puts no secret and no address into any', async () => {
  await using t = await hosted();
  const outcomes = [];
  t.web.troubles.push('gateway', 'unauthorized', 'break');
  for (let n = 0; n < 3; n++) outcomes.push(await call(t.host, 'mcp_web__write'));
  outcomes.push(await call(t.host, 'mcp_web__write', { fail: -32603 }));
  outcomes.push(await call(t.host, 'mcp_web__write', { fail: -32602 }));
  expect(outcomes.map((outcome) => 'error' in outcome && outcome.error.code)).toEqual([
    'outcome_unknown',
    'mcp_server_unreachable',
    'outcome_unknown',
    'internal',
    'invalid_arguments',
  ]);
  const told = JSON.stringify([outcomes, t.host.servers(), t.host.events]);
  expect(told).not.toContain(secret);
  expect(told).not.toContain('127.0.0.1');
});

it("lets a server's own limit bound the run alone, and the caller's deadline everything", async () => {
  await using web = await startPolicyServer();
  let clock = 1;
  await using host = startTestHost({
    servers: { web: web.config({ timeoutMs: 5_000 }) },
    now: () => clock,
  });
  await host.inventory();
  const takes = (ms: number) => async () => {
    clock += ms;
    return undefined;
  };
  expect(await call(host, 'mcp_web__write', {}, { beforeSend: takes(10_000) })).toHaveProperty('result');
  const onSent = vi.fn();
  expect(await call(host, 'mcp_web__write', {}, { beforeSend: takes(20_000), onSent })).toMatchObject({
    error: { code: 'tool_timeout', may_have_run: false },
  });
  expect(onSent).not.toHaveBeenCalled();
  expect(web.calls).toHaveLength(1);
});

it('ends a call unsent that its caller holds back, and one whose caller fails to say', async () => {
  await using t = await hosted();
  const refusal = toolCallError('internal', 'the journal is full', { mayHaveRun: false });
  expect(await call(t.host, 'mcp_web__write', {}, { beforeSend: async () => refusal })).toEqual({
    error: refusal,
  });
  const beforeSend = () => Promise.reject(new Error(`no disk, ${secret}`));
  expect(await call(t.host, 'mcp_web__write', {}, { beforeSend })).toMatchObject({
    error: { code: 'internal', message: expect.stringContaining('no disk, [redacted]') },
  });
  expect(t.web.calls).toEqual([]);
});
