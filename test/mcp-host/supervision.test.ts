import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { counterServer, programOptions, readCounter, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

async function twoCounters(random = 0) {
  const dir = await tempDir();
  const files = { a: join(dir.path, 'a'), b: join(dir.path, 'b') };
  const servers = { a: counterServer(files.a), b: counterServer(files.b) };
  const host = startTestHost({ servers, random: () => random });
  await host.inventory();
  const pidOf = (name: string) => host.servers().find((server) => server.name === name)!.pid!;
  return {
    host,
    files,
    pidOf,
    async [Symbol.asyncDispose]() {
      await host.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

it('restarts a server that crashed; the next call runs once, in the new process', async () => {
  await using t = await twoCounters();
  const before = t.pidOf('a');
  await call(t.host, 'mcp_a__crash');
  expect(await call(t.host, 'mcp_a__count')).toMatchObject({ result: { structuredContent: { n: 1 } } });
  expect(t.pidOf('a')).not.toBe(before);
  expect(readCounter(t.files.a).filter(({ tool, at }) => tool === 'count' && at === 'start')).toHaveLength(1);
  expect(t.host.servers()[0]).toMatchObject({ state: 'ready', restarts: 1, lastError: 'exited with code 1' });
});

it('leaves the other servers and their calls alone when one crashes', async () => {
  await using t = await twoCounters();
  const pid = t.pidOf('b');
  const open = join(t.files.b, '..', 'open');
  const running = call(t.host, 'mcp_b__gate', { file: open });
  await vi.waitFor(() => expect(readCounter(t.files.b)).toHaveLength(1));
  expect(await call(t.host, 'mcp_a__crash')).toMatchObject({ error: { code: 'outcome_unknown' } });
  await t.host.seen('server_ready', { server: 'a' }, 2);
  await writeFile(open, '');
  expect(await running).toHaveProperty('result');
  expect(t.pidOf('b')).toBe(pid);
  expect((await t.host.inventory()).problems).toEqual([]);
});

it('keeps the tools of a server that is down, and names it as a problem meanwhile', async () => {
  await using t = await twoCounters(1);
  const before = await t.host.inventory();
  await call(t.host, 'mcp_a__crash');
  await t.host.seen('server_backing_off', { server: 'a' });
  const meanwhile = await t.host.inventory();
  expect(meanwhile.version).toBe(before.version);
  expect(meanwhile.problems).toEqual([{ server: 'a', message: 'not available: exited with code 1' }]);
  await t.host.seen('server_ready', { server: 'a' }, 2);
  expect(await t.host.inventory()).toEqual(before);
});

it('answers what the server wrote before it exited', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('answer_and_exit')]] }));
  await using host = startTestHost({ servers: { odd: nonstandardServer(list) } });
  await host.inventory();
  expect(await call(host, 'mcp_odd__answer_and_exit')).toMatchObject({
    result: { content: [{ text: '"last words"' }] },
  });
});

it('gives up on a server that is down only when the deadline of the call has come', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('announce')]] }));
  await using host = startTestHost({ servers: { odd: nonstandardServer(list) }, random: () => 1 });
  await host.inventory();
  await writeFile(list, JSON.stringify({ pages: [], exit: 3 }));
  process.kill(host.servers()[0]!.pid!, 'SIGKILL');
  await host.seen('server_backing_off');
  expect(await call(host, 'mcp_odd__announce', {}, { timeoutMs: 100 })).toMatchObject({
    error: { code: 'mcp_server_unreachable', retryable: true, may_have_run: false },
  });
  const abort = new AbortController();
  const waiting = call(host, 'mcp_odd__announce', {}, { signal: abort.signal });
  abort.abort();
  expect(await waiting).toMatchObject({ error: { code: 'cancelled', may_have_run: false } });
});

it('waits for a server that has not listed yet rather than deny its tool', async () => {
  await using dir = await tempDir();
  await using host = startTestHost({ servers: { a: counterServer(join(dir.path, 'a')) } });
  expect(await call(host, 'mcp_a__echo', { x: 1 })).toMatchObject({
    result: { structuredContent: { x: 1 } },
  });
});

it('names a command that does not exist, and tells neither its folder nor its arguments', async () => {
  await using host = startTestHost({
    servers: { gone: { type: 'stdio', command: '/no/such/program', args: ['--token', 'sekret'] } },
  });
  expect((await host.inventory()).problems).toEqual([
    {
      server: 'gone',
      message:
        "not available: it failed and is not started any more: its command 'program' was not found (ENOENT)",
    },
  ]);
});

it('kills the whole process group of a server that will not go', async () => {
  await using dir = await tempDir();
  const [list, pids] = [join(dir.path, 'list.json'), join(dir.path, 'pids')];
  await writeFile(list, JSON.stringify({ pages: [[]] }));
  const host = startTestHost({
    servers: { odd: nonstandardServer(list, { PIDS_FILE: pids }) },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  await host.inventory();
  const family = await vi.waitFor(async () => (await readFile(pids, 'utf8')).split(' ').map(Number));
  expect(family.map(isRunning)).toEqual([true, true]);
  await host.close();
  await vi.waitFor(() => expect(family.map(isRunning)).toEqual([false, false]));
});

it('leaves no server behind when the host itself is killed', async () => {
  await using dir = await tempDir();
  const main = fileURLToPath(new URL('../support/mcp-host/host-main.ts', import.meta.url));
  const args = [...programOptions(), main, join(dir.path, 'count')];
  const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(host, 'exit');
  const [pid] = (await once(host.stdout, 'data')).map(Number);
  expect(isRunning(pid!)).toBe(true);
  host.kill('SIGKILL');
  await exited;
  await vi.waitFor(() => expect(isRunning(pid!)).toBe(false));
});

it('closes while its servers are still starting', async () => {
  await using dir = await tempDir();
  const host = startTestHost({ servers: { a: counterServer(join(dir.path, 'a')) } });
  await host.close();
  expect(host.servers()).toMatchObject([{ state: 'stopped' }]);
  expect(host.servers()[0]).not.toHaveProperty('pid');
  expect(await call(host, 'mcp_a__count')).toMatchObject({ error: { code: 'mcp_server_unreachable' } });
  expect((await host.inventory()).problems).toHaveLength(1);
});

it('is closed only when the process of a server that was still starting has exited', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'pid');
  const script = `require('fs').writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1e6);`;
  const mute = { type: 'stdio' as const, command: process.execPath, args: ['-e', script, file] };
  const host = startTestHost({ servers: { mute } });
  const pid = await vi.waitFor(async () => {
    const written = Number(await readFile(file, 'utf8'));
    expect(written).toBeGreaterThan(0);
    return written;
  });
  expect(isRunning(pid)).toBe(true);
  await host.close();
  expect(isRunning(pid)).toBe(false);
});

it('starts one process for all calls that arrive while a server starts', async () => {
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
