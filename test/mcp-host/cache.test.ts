import { expect, it, vi } from 'vitest';
import { startPolicyServer } from '../support/mcp-host/call-policies-server.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';

const rosa = { caller: { agent: 'rosa', role: 'researcher' } };
const walt = { caller: { agent: 'walt', role: 'researcher' } };
const fresh = (cacheScope: 'private' | 'public' = 'private', ttlMs = 1_000) => ({
  answer: { ttlMs, cacheScope },
});

async function hosted(share: 'all' | 'worker' = 'all') {
  const web = await startPolicyServer();
  const clock = { now: 1 };
  const servers = { web: web.config({ share, circuitThreshold: 1 }) };
  const host = startTestHost({ servers, now: () => clock.now });
  await host.inventory();
  return {
    web,
    clock,
    host,
    read: (args: Record<string, unknown>, options: Parameters<typeof call>[3] = rosa) =>
      call(host, 'mcp_web__read', args, options),
    async [Symbol.asyncDispose]() {
      await host.close();
      await web[Symbol.asyncDispose]();
    },
  };
}

it('answers from the cache as long as the result said, without sending anything', async () => {
  await using t = await hosted();
  const first = await t.read(fresh());
  expect(first).toMatchObject({ result: { content: [{ text: '1' }], ttlMs: 1_000 } });
  t.clock.now += 999;
  const [onSent, beforeSend] = [vi.fn(), vi.fn()];
  expect(await t.read(fresh(), { ...rosa, onSent, beforeSend })).toEqual(first);
  expect(onSent).not.toHaveBeenCalled();
  expect(beforeSend).not.toHaveBeenCalled();
  expect(t.web.calls).toHaveLength(1);
  expect(t.host.servers()[0]).toMatchObject({ cacheEntries: 1, cacheHits: 1, calls: 1 });
  t.clock.now += 1;
  expect(await t.read(fresh())).toMatchObject({ result: { content: [{ text: '2' }] } });
});

it('keeps only results of tools that read, never errors, never what says nothing of its future', async () => {
  await using t = await hosted();
  const twice = async (tool: string, args: Record<string, unknown>, options = {}) => {
    const before = t.web.calls.length;
    for (let n = 0; n < 2; n++) await call(t.host, `mcp_web__${tool}`, args, { ...rosa, ...options });
    return t.web.calls.length - before;
  };
  expect(await twice('read', fresh())).toBe(1);
  expect(await twice('write', fresh())).toBe(2);
  expect(await twice('put', fresh())).toBe(2);
  expect(await twice('write', fresh(), { repeatable: true })).toBe(2);
  expect(await twice('read', fresh(), { repeatable: false })).toBe(2);
  expect(await twice('read', {})).toBe(2);
  expect(await twice('read', { answer: { ttlMs: 0 } })).toBe(2);
  expect(await twice('read', { answer: { ttlMs: 1_000, isError: true } })).toBe(2);
  expect(await twice('read', { fail: -32603 })).toBe(2);
});

it('keeps nothing private for a caller that nobody has named', async () => {
  await using t = await hosted();
  await t.read(fresh(), {});
  await t.read(fresh(), {});
  expect(t.web.calls).toHaveLength(2);
  await t.read(fresh('public'), {});
  await t.read(fresh('public'), {});
  expect(t.web.calls).toHaveLength(3);
});

it('does not mix the instances of a server that each worker has for itself', async () => {
  await using t = await hosted('worker');
  await t.read(fresh('public'), rosa);
  await t.read(fresh('public'), walt);
  await t.read(fresh('public'), walt);
  expect(t.web.calls).toHaveLength(2);
});

it('goes on answering while the circuit is open', async () => {
  await using t = await hosted();
  await t.read(fresh());
  t.web.troubles.push('gateway');
  await call(t.host, 'mcp_web__write');
  expect(t.host.servers()[0]).toMatchObject({ circuit: 'open' });
  expect(await t.read(fresh())).toHaveProperty('result');
  expect(await t.read({})).toMatchObject({ error: { code: 'mcp_server_unreachable' } });
});

it('forgets everything when the tools change, and on a reload', async () => {
  await using t = await hosted();
  await t.read(fresh());
  t.web.addTool('later');
  await vi.waitFor(() => expect(t.host.servers()[0]).toMatchObject({ cacheEntries: 0 }));
  await t.read(fresh());
  expect(t.web.calls).toHaveLength(2);
  await t.host.reload('web');
  await t.read(fresh());
  expect(t.web.calls).toHaveLength(3);
});

it('lets calls that ask the same at the same time share one, which ends only with the last of them', async () => {
  await using t = await hosted();
  const hold = (options: object) => call(t.host, 'mcp_web__hold', fresh(), { ...rosa, ...options });
  const abort = new AbortController();
  const onProgress = vi.fn();
  const first = hold({ signal: abort.signal, onProgress });
  const hasty = hold({ timeoutMs: 100 });
  const patient = hold({});
  await vi.waitFor(() => expect(t.web.calls).toHaveLength(1));
  abort.abort();
  expect(await first).toMatchObject({ error: { code: 'cancelled' } });
  expect(await hasty).toMatchObject({ error: { code: 'tool_timeout', retryable: true } });
  t.web.open();
  expect(await patient).toMatchObject({ result: { content: [{ text: '1' }] } });
  expect(t.web.calls).toHaveLength(1);
  expect(onProgress).not.toHaveBeenCalled();
  await call(t.host, 'mcp_web__hold', { other: true }, { ...rosa, onProgress });
  expect(onProgress).toHaveBeenCalledExactlyOnceWith({ progress: 1 });
});

it('ends the shared call on the server when the last caller has gone', async () => {
  await using t = await hosted();
  const hold = (signal: AbortSignal) => call(t.host, 'mcp_web__hold', {}, { ...rosa, signal });
  const aborts = [new AbortController(), new AbortController()];
  const calls = aborts.map(({ signal }) => hold(signal));
  await vi.waitFor(() => expect(t.web.calls).toHaveLength(1));
  for (const abort of aborts) abort.abort();
  expect(await Promise.all(calls)).toMatchObject([
    { error: { code: 'cancelled' } },
    { error: { code: 'cancelled' } },
  ]);
  await vi.waitFor(() => expect(t.host.servers()[0]).toMatchObject({ inFlight: 0 }));
  expect(t.web.calls).toHaveLength(1);
});

it('does not share a result between agents, unless its server calls it public', async () => {
  await using web = await startPolicyServer();
  await using host = startTestHost({ servers: { web: web.config() } });
  await host.inventory();
  const read = async (agent: string, cacheScope?: string) => {
    const answer = { ttlMs: 60_000, ...(cacheScope && { cacheScope }) };
    const caller = { agent, role: 'researcher' };
    const outcome = await call(host, 'mcp_web__read', { answer }, { caller });
    return 'result' in outcome && (outcome.result.content as { text: string }[])[0]!.text;
  };
  expect([await read('rosa'), await read('walt'), await read('rosa'), await read('walt')]).toEqual([
    '1',
    '2',
    '1',
    '2',
  ]);
  expect(await Promise.all([read('rosa', 'private'), read('walt', 'private')])).toEqual(['3', '4']);
  expect([await read('rosa', 'public'), await read('walt', 'public')]).toEqual(['5', '5']);
});
