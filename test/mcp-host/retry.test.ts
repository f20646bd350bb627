import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { McpHostOptions, ServerPolicy } from '@signalbox/mcp-host';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { type PolicyServer, startPolicyServer } from '../support/mcp-host/call-policies-server.ts';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';

async function hosted(
  options: Pick<McpHostOptions, 'now'> = {},
  policy: ServerPolicy = {},
): Promise<AsyncDisposable & { host: TestHost; web: PolicyServer }> {
  const web = await startPolicyServer();
  const host = startTestHost({ servers: { web: web.config(policy) }, ...options });
  await host.inventory();
  return {
    host,
    web,
    async [Symbol.asyncDispose]() {
      await host.close();
      await web[Symbol.asyncDispose]();
    },
  };
}

it('makes a call once more that is safe to repeat when the way to its server broke', async () => {
  await using t = await hosted();
  for (const trouble of ['gateway', 'break'] as const) {
    t.web.troubles.push(trouble);
    const beforeSend = vi.fn(async () => undefined);
    expect(await call(t.host, 'mcp_web__put', { trouble }, { beforeSend })).toHaveProperty('result');
    expect(beforeSend).toHaveBeenCalledTimes(2);
  }
  expect(t.web.calls.map(([tool]) => tool)).toEqual(['put', 'put', 'put', 'put']);
  expect(t.host.servers()[0]).toMatchObject({ calls: 4, consecutiveFailures: 0 });
});

it('makes no call twice that is not safe to repeat, after any kind of failure', async () => {
  await using t = await hosted();
  t.web.troubles.push('gateway', 'break', 'break');
  const unknown = { error: { code: 'outcome_unknown', may_have_run: true } };
  expect(await call(t.host, 'mcp_web__write')).toMatchObject(unknown);
  expect(await call(t.host, 'mcp_web__write')).toMatchObject(unknown);
  // The operator's word goes above what the tool says of itself.
  expect(await call(t.host, 'mcp_web__read', {}, { repeatable: false })).toMatchObject(unknown);
  expect(t.web.calls).toHaveLength(3);
});

it('gives up after the second failure and tells both; that the first one may have run is not forgotten', async () => {
  await using t = await hosted();
  t.web.troubles.push('gateway', 'unauthorized');
  expect(await call(t.host, 'mcp_web__put')).toMatchObject({
    error: {
      code: 'mcp_server_unreachable',
      may_have_run: true,
      cause_chain: ['HTTP 401: who are you', 'the first try: HTTP 502: bad gateway'],
    },
  });
  expect(t.web.calls).toHaveLength(2);
});

it('does not repeat what the server refused, answered, or let time out', async () => {
  await using t = await hosted();
  t.web.troubles.push('unauthorized');
  expect(await call(t.host, 'mcp_web__put')).toMatchObject({
    error: { code: 'mcp_server_unreachable', retryable: false, may_have_run: false },
  });
  expect(await call(t.host, 'mcp_web__put', { fail: -32603 })).toMatchObject({ error: { code: 'internal' } });
  expect(await call(t.host, 'mcp_web__hold', {}, { timeoutMs: 100 })).toMatchObject({
    error: { code: 'tool_timeout', retryable: true },
  });
  const sent = t.web.calls.map(([tool]) => tool);
  expect(sent.slice(0, 2)).toEqual(['put', 'put']);
  expect(sent.slice(2).length).toBeLessThan(2);
});

it('does not start over with less time left than the pause before it', async () => {
  let clock = 1;
  await using t = await hosted({ now: () => clock });
  const onSent = () => {
    clock += 19_900;
  };
  t.web.troubles.push('gateway');
  expect(await call(t.host, 'mcp_web__put', {}, { timeoutMs: 20_000, onSent })).toMatchObject({
    error: {
      code: 'mcp_server_unreachable',
      retryable: true,
      may_have_run: true,
      cause_chain: ['HTTP 502: bad gateway'],
    },
  });
  expect(t.web.calls).toHaveLength(1);
});

it('is cancelled during the pause', async () => {
  await using t = await hosted({}, { circuitThreshold: 1 });
  t.web.troubles.push('gateway');
  const abort = new AbortController();
  const running = call(t.host, 'mcp_web__put', {}, { signal: abort.signal });
  await t.host.seen('circuit_opened');
  await nextTurn();
  abort.abort();
  expect(await running).toMatchObject({ error: { code: 'cancelled', may_have_run: true } });
  expect(t.web.calls).toHaveLength(1);
});

it('goes to the new process of a server that died, not to the dead one', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'count');
  await using host = startTestHost({ servers: { a: counterServer(file) } });
  await host.inventory();
  const outcome = await call(host, 'mcp_a__crash', {}, { repeatable: true });
  expect(outcome).toMatchObject({
    error: {
      code: 'mcp_server_unreachable',
      may_have_run: true,
      cause_chain: ['exited with code 1', 'the first try: exited with code 1'],
    },
  });
  expect(new Set(readCounter(file).map(({ pid }) => pid)).size).toBe(2);
  expect(readCounter(file)).toHaveLength(2);
});
