import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { counterServer, readCounter, tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { startPolicyServer } from '../support/mcp-host/call-policies-server.ts';
import { aTool, call, oddServer, startTestHost } from '../support/mcp-host/test-host.ts';

const script = fileURLToPath(new URL('../support/mcp-host/lingering-server.ts', import.meta.url));
const lingering = { type: 'stdio' as const, command: process.execPath, args: [script] };

it('standard error is always drained: a server that writes megabytes to it goes on answering', async () => {
  await using host = startTestHost({ servers: { loud: lingering } });
  const first = await call(host, 'mcp_loud__shout');
  expect(first).toMatchObject({ result: { content: [{ type: 'text' }] } });
  expect(await call(host, 'mcp_loud__shout')).toEqual(first);
});

it('an exit is the exit event, not the close of the pipes, which a grandchild may hold open', async () => {
  await using host = startTestHost({
    servers: { gone: lingering },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  const before = await call(host, 'mcp_gone__pid');
  expect(await call(host, 'mcp_gone__leave')).toMatchObject({ error: { code: 'outcome_unknown' } });
  const after = await call(host, 'mcp_gone__pid');
  expect(after).toMatchObject({ result: { content: [{ type: 'text' }] } });
  expect(after).not.toEqual(before);
});

it('concurrent get-or-create is single-flight: calls that meet a server that is starting share one process', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'count');
  await using host = startTestHost({ servers: { a: counterServer(file) } });
  const eight = () => Promise.all(Array.from({ length: 8 }, () => call(host, 'mcp_a__count')));
  const pids = () => new Set(readCounter(file).map(({ pid }) => pid));
  await eight();
  expect(pids().size).toBe(1);
  await call(host, 'mcp_a__crash');
  await eight();
  expect(pids().size).toBe(2);
  expect(readCounter(file).filter(({ tool, at }) => tool === 'count' && at === 'start')).toHaveLength(16);
});

it("a breaker's half-open probe makes a new session, and does not reuse the dead one", async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[aTool('mute'), aTool('environment')]] }));
  let clock = 1;
  // Mute calls are never answered, yet the process lives and its session looks open.
  const odd = { ...oddServer(list), timeoutMs: 600, circuitThreshold: 2, circuitResetMs: 30_000 };
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

it('tool errors never open the circuit, however many there are', async () => {
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

it('a cached result does not cross agents, unless its server calls it public', async () => {
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
