import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('does not know the outcome of an unsafe call whose server died; repeats a safe one once, then leaves it to the caller', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  const tools = [toolNamed('silent'), toolNamed('silent_safe', { annotations: { idempotentHint: true } })];
  await writeFile(list, JSON.stringify({ pages: [tools] }));
  await using host = startTestHost({ servers: { odd: nonstandardServer(list) } });
  await host.inventory();
  const calls = [call(host, 'mcp_odd__silent'), call(host, 'mcp_odd__silent_safe')];
  await vi.waitFor(() => expect(host.servers()[0]!.inFlight).toBe(2));
  await turn();
  process.kill(host.servers()[0]!.pid!, 'SIGKILL');
  await calls[0];
  await vi.waitFor(() => expect(host.servers()[0]!.inFlight).toBe(1));
  await turn();
  process.kill(host.servers()[0]!.pid!, 'SIGKILL');
  const message = expect.stringContaining('SIGKILL');
  expect(await Promise.all(calls)).toMatchObject([
    { error: { code: 'outcome_unknown', retryable: false, may_have_run: true, message } },
    { error: { code: 'mcp_server_unreachable', retryable: true, may_have_run: true, message } },
  ]);
});

it('backs off further with every failed start, and an empty list is never the answer', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('fail')]], exit: 3 }));
  await using host = startTestHost({ servers: { odd: nonstandardServer(list) }, random: () => 1 });
  expect(await host.inventory()).toMatchObject({
    tools: [],
    problems: [{ server: 'odd', message: 'not available: exited with code 3' }],
  });
  await host.seen('server_backing_off', {}, 3);
  const delays = host.events
    .filter(({ event }) => event === 'server_backing_off')
    .map(({ delayMs }) => delayMs);
  expect(delays.slice(0, 3)).toEqual([100, 200, 400]);

  const changed = new Promise((resolve) => host.onInventoryChanged(resolve));
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('fail')]] }));
  expect(await call(host, 'mcp_odd__fail')).toMatchObject({ result: { isError: true } });
  expect(await changed).toMatchObject({ tools: [{ name: 'mcp_odd__fail' }], problems: [] });
});

it('asks a server that runs and cannot list its tools again and again, and ejects it only if its configuration bounds its restarts', async () => {
  await using dir = await tempDir();
  const list = join(dir.path, 'list.json');
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('fail')]], fail: true }));
  const offline = nonstandardServer(list);
  await using host = startTestHost({ servers: { offline, bounded: { ...offline, maxRestarts: 1 } } });
  await host.seen('server_ejected', { server: 'bounded' });
  await host.seen('server_backing_off', { server: 'offline' }, 7);
  await writeFile(list, JSON.stringify({ pages: [[toolNamed('fail')]] }));
  expect(await host.seen('server_ready', { server: 'offline' })).toMatchObject({ tools: 1 });
});

it('resets the backoff after sustained uptime, not after a handshake', async () => {
  let clock = 0;
  await using dir = await tempDir();
  const servers = { a: counterServer(join(dir.path, 'a')) };
  await using host = startTestHost({ servers, random: () => 1, now: () => clock });
  await host.inventory();
  const crashAndWait = async (times: number) => {
    await call(host, 'mcp_a__crash');
    await host.seen('server_ready', { server: 'a' }, times + 1);
  };
  await crashAndWait(1);
  await crashAndWait(2);
  clock += 10_000;
  await crashAndWait(3);
  const delays = host.events
    .filter(({ event }) => event === 'server_backing_off')
    .map(({ delayMs }) => delayMs);
  expect(delays).toEqual([100, 200, 100]);
});

it('kills the grandchildren of a server that was killed', async () => {
  await using dir = await tempDir();
  const [list, pids] = [join(dir.path, 'list.json'), join(dir.path, 'pids')];
  await writeFile(list, JSON.stringify({ pages: [[]] }));
  await using host = startTestHost({
    servers: { odd: nonstandardServer(list, { PIDS_FILE: pids }) },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  await host.inventory();
  const family = await vi.waitFor(async () => (await readFile(pids, 'utf8')).split(' ').map(Number));
  process.kill(family[0]!, 'SIGKILL');
  await vi.waitFor(() => expect(family.map(isRunning)).toEqual([false, false]));
});

it('starts a server again before others start for the first time, while some hang, and says which of them wait for their turn', async () => {
  await using dir = await tempDir();
  const a = counterServer(join(dir.path, 'a'));
  await using host = startTestHost({ servers: { a }, tuning: { concurrentStarts: 1, startTurnMs: 500 } });
  await host.inventory();
  const hanging = { type: 'stdio' as const, command: 'sleep', args: ['600'] };
  void host.apply({ a, first: hanging, second: hanging, third: hanging });
  await call(host, 'mcp_a__crash');
  await host.seen('server_ready', { server: 'a' }, 2);
  const states = new Map(host.servers().map(({ name, state }) => [name, state]));
  expect([states.get('first'), states.get('third')]).toEqual(['starting', 'queued']);
});
