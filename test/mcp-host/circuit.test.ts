import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerPolicy, ServerStatus } from '@signalbox/mcp-host';
import { tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { type PolicyServer, startPolicyServer } from '../support/mcp-host/call-policies-server.ts';
import { call, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer, nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';

interface Fixture extends AsyncDisposable {
  host: TestHost;
  a: PolicyServer;
  b: PolicyServer;
  clock: { now: number };
  /** Makes so many calls of `a` fail in transport. */
  fail(times: number): Promise<void>;
  circuit(): unknown;
}

const threshold = 3;
const resetMs = 30_000;

/** Two servers, of which `a` opens its circuit after three failures; a clock that stands still. */
async function twoServers(policy: ServerPolicy = {}): Promise<Fixture> {
  const [a, b] = await Promise.all([startPolicyServer(), startPolicyServer()]);
  const clock = { now: 1 };
  const servers = {
    a: a.config({ circuitThreshold: threshold, circuitResetMs: resetMs, ...policy }),
    b: b.config(),
  };
  const host = startTestHost({ servers, now: () => clock.now });
  await host.inventory();
  return {
    host,
    a,
    b,
    clock,
    async fail(times) {
      for (let n = 0; n < times; n++) {
        a.troubles.push('gateway');
        expect(await call(host, 'mcp_a__write')).toMatchObject({ error: { code: 'outcome_unknown' } });
      }
    },
    circuit: () => host.servers()[0]!.circuit,
    async [Symbol.asyncDispose]() {
      await host.close();
      await Promise.all([a, b].map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

it('opens after so many failures in a row: then no call goes out, and each is told when to come back', async () => {
  await using t = await twoServers();
  await t.fail(threshold - 1);
  expect(t.circuit()).toBe('closed');
  await t.fail(1);
  expect(t.circuit()).toBe('open');
  expect(t.host.servers()[0]).toMatchObject({ consecutiveFailures: 3 });
  expect(await t.host.seen('circuit_opened')).toEqual({
    event: 'circuit_opened',
    server: 'a',
    failures: 3,
    resetMs,
  });
  t.clock.now += 10_000;
  const onSent = vi.fn();
  const beforeSend = vi.fn();
  expect(await call(t.host, 'mcp_a__write', {}, { onSent, beforeSend })).toEqual({
    error: {
      code: 'mcp_server_unreachable',
      category: 'transient',
      retryable: true,
      may_have_run: false,
      retry_after_seconds: 20,
      message:
        "server 'a' is not available: it failed 3 times in a row, and it is left alone for another 20 s",
      hint: "The call was not made. Wait 20 s before you call a tool of 'a', or use another tool.",
      cause_chain: ['HTTP 502: bad gateway'],
    },
  });
  expect(onSent).not.toHaveBeenCalled();
  expect(beforeSend).not.toHaveBeenCalled();
  expect(t.a.calls).toHaveLength(threshold);
});

it("leaves another server's circuit alone", async () => {
  await using t = await twoServers();
  await t.fail(threshold);
  expect(await call(t.host, 'mcp_b__write')).toHaveProperty('result');
  expect(t.host.servers().map(({ circuit }) => circuit)).toEqual(['open', 'closed']);
});

it('lets one call through when its time is over, and closes when that succeeds', async () => {
  await using t = await twoServers();
  await t.fail(threshold);
  t.clock.now += resetMs;
  expect(t.circuit()).toBe('half_open');
  const sessions = t.a.sessions();
  const probe = call(t.host, 'mcp_a__write');
  expect(await call(t.host, 'mcp_a__write')).toMatchObject({
    error: { code: 'mcp_server_unreachable', may_have_run: false, retry_after_seconds: 1 },
  });
  expect(await probe).toHaveProperty('result');
  expect(t.a.sessions()).toBe(sessions + 1);
  expect(t.a.calls).toHaveLength(threshold + 1);
  expect(t.circuit()).toBe('closed');
  await t.host.seen('circuit_closed', { server: 'a' });
  expect(await call(t.host, 'mcp_a__write')).toHaveProperty('result');
});

it('opens again when that call fails, and it is not made a second time', async () => {
  await using t = await twoServers();
  await t.fail(threshold);
  t.clock.now += resetMs;
  t.a.troubles.push('gateway');
  expect(await call(t.host, 'mcp_a__read')).toMatchObject({
    error: { code: 'mcp_server_unreachable', may_have_run: true, retry_after_seconds: 30 },
  });
  expect(t.a.calls).toHaveLength(threshold + 1);
  expect(t.circuit()).toBe('open');
});

it('does not count what the caller is to blame for: invalid arguments, a cancellation, too short a deadline', async () => {
  await using t = await twoServers();
  await t.fail(threshold - 1);
  const abort = new AbortController();
  const running = call(t.host, 'mcp_a__hold', {}, { signal: abort.signal });
  await vi.waitFor(() => expect(t.a.calls).toHaveLength(threshold));
  abort.abort();
  expect(await running).toMatchObject({ error: { code: 'cancelled' } });
  expect(await call(t.host, 'mcp_a__typed', { count: 'many' })).toMatchObject({
    error: { code: 'invalid_arguments' },
  });
  expect(await call(t.host, 'mcp_a__hold', {}, { timeoutMs: 50, repeatable: false })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  expect(t.host.servers()[0]).toMatchObject({ circuit: 'closed', consecutiveFailures: threshold - 1 });
});

it("counts a call that is not answered within the server's own limit", async () => {
  await using t = await twoServers({ timeoutMs: 150 });
  const silent = () => call(t.host, 'mcp_a__hold', {}, { repeatable: false });
  await Promise.all([silent(), silent(), silent()]);
  expect(t.circuit()).toBe('open');
});

it('is closed by a reload, and what the status counts begins anew', async () => {
  await using t = await twoServers();
  await t.fail(threshold);
  const counted = ({ calls, consecutiveFailures, p95Ms }: ServerStatus) => ({
    calls,
    consecutiveFailures,
    p95Ms,
  });
  const before = counted(t.host.servers()[0]!);
  expect(before).toMatchObject({ calls: expect.toSatisfy((n) => n > 0), consecutiveFailures: threshold });
  const after = counted(await t.host.reload('a'));
  expect(after).toEqual({ calls: 0, consecutiveFailures: 0, p95Ms: undefined });
  expect(await call(t.host, 'mcp_a__write')).toHaveProperty('result');
});

it('counts a server that is down once a call has waited for it fairly, not when the caller was in a hurry', async () => {
  await using a = await startPolicyServer();
  let clock = 1;
  const servers = { a: a.config({ circuitThreshold: 2, maxRestarts: 1_000 }) };
  await using host = startTestHost({ servers, now: () => clock, random: () => 1 });
  await host.inventory();
  await a.crash();
  await host.seen('server_lost');
  const wait = () => call(host, 'mcp_a__write', {}, { timeoutMs: 60 });
  const down = { error: { code: 'mcp_server_unreachable', may_have_run: false } };
  expect(await Promise.all([wait(), wait(), wait()])).toMatchObject([down, down, down]);
  expect(host.servers()[0]).toMatchObject({ circuit: 'closed', consecutiveFailures: 0 });
  const patient = [wait(), wait()];
  clock += 30_000;
  await Promise.all(patient);
  expect(host.servers()[0]).toMatchObject({ circuit: 'open', consecutiveFailures: 2 });
  expect(await wait()).toMatchObject({ error: { retry_after_seconds: 30 } });
});

it('counts the crash of a server once, however many calls it had, and the next call is made when it is up again', async () => {
  const servers = { odd: { ...misbehavingServer(), circuitThreshold: 2 } };
  await using host = startTestHost({ servers });
  await host.inventory();
  const tools = ['mcp_odd__hang', 'mcp_odd__hang', 'mcp_odd__crash_on'];
  const lost = await Promise.all(tools.map((tool) => call(host, tool, { n: 1 })));
  expect(lost).toMatchObject(tools.map(() => ({ error: { code: 'outcome_unknown' } })));
  expect(host.servers()[0]).toMatchObject({ circuit: 'closed', consecutiveFailures: 1 });
  expect(await call(host, 'mcp_odd__note')).toHaveProperty('result');
  for (let crash = 0; crash < 2; crash++) await call(host, 'mcp_odd__crash_on', { n: 1 });
  expect(host.servers()[0]).toMatchObject({ circuit: 'open', consecutiveFailures: 2 });
});

it('lets the first call after its time go through a new session, not the one that failed', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('mute'), toolNamed('environment')]] }));
  let clock = 1;
  // Mute calls are never answered, yet the process lives and its session looks open.
  const odd = { ...nonstandardServer(list), timeoutMs: 600, circuitThreshold: 2, circuitResetMs: 30_000 };
  await using host = startTestHost({ servers: { odd }, now: () => clock });
  await host.inventory();
  const [{ pid } = {}] = host.servers();
  await Promise.all([call(host, 'mcp_odd__mute'), call(host, 'mcp_odd__mute')]);
  expect(host.servers()[0]).toMatchObject({ circuit: 'open', pid });
  clock += 30_000;
  expect(await call(host, 'mcp_odd__environment')).toHaveProperty('result');
  expect(host.servers()[0]).toMatchObject({ circuit: 'closed' });
  expect(host.servers()[0]!.pid).not.toBe(pid);
});

it('does not open for errors that tools report, however many there are', async () => {
  await using web = await startPolicyServer();
  await using host = startTestHost({ servers: { web: web.config({ circuitThreshold: 2 }) } });
  await host.inventory();
  for (let n = 0; n < 5; n++) {
    expect(await call(host, 'mcp_web__write', { answer: { isError: true } })).toHaveProperty(
      'result.isError',
    );
    expect(await call(host, 'mcp_web__write', { fail: -32603 })).toMatchObject({
      error: { code: 'internal' },
    });
    web.troubles.push('unauthorized');
    expect(await call(host, 'mcp_web__write')).toHaveProperty('error');
  }
  expect(host.servers()[0]).toMatchObject({ circuit: 'closed', consecutiveFailures: 0, calls: 15 });
  web.troubles.push('gateway', 'gateway');
  await call(host, 'mcp_web__write');
  await call(host, 'mcp_web__write');
  expect(host.servers()[0]).toMatchObject({ circuit: 'open' });
});
