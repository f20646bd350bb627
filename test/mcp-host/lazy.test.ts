import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { call, jsonResult, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('a lazy server is started once to list its tools, ends when nobody has used it for a while, and comes back', async () => {
  let clock = 0;
  const servers = { a: { ...misbehavingServer(), lazy: true, keepAliveMs: 20 }, stays: misbehavingServer() };
  await using host = startTestHost({ servers, now: () => clock });
  const before = await host.inventory();
  expect(before.tools).toHaveLength(16);
  const first = host.servers()[0]!.pid!;
  // Far longer than it is kept, by the wall; not at all, by the clock.
  for (let i = 0; i < 10; i++) await call(host, 'mcp_a__note', { text: `${i}` });
  expect(host.servers()[0]).toMatchObject({ pid: first, lazy: true, calls: 10 });

  clock += 20;
  expect(await host.seen('instance_stopped')).toMatchObject({ server: 'a', reason: 'idle' });
  expect(host.servers()[0]).toMatchObject({ state: 'idle', instances: 0, pids: [], toolCount: 8 });
  expect(await host.inventory()).toEqual(before);
  await vi.waitFor(() => expect(isRunning(first)).toBe(false));

  expect(jsonResult(await call(host, 'mcp_a__note', { text: 'new' }))).toMatchObject({ notes: ['new'] });
  const abort = new AbortController();
  const hanging = call(host, 'mcp_a__hang', {}, { signal: abort.signal });
  clock += 1_000;
  expect(jsonResult(await call(host, 'mcp_a__note', { text: 'newer' }))).toMatchObject({
    notes: ['new', 'newer'],
  });
  abort.abort();
  await hanging;
  clock += 20;
  await host.seen('instance_stopped', {}, 2);
  expect(host.servers()[1]).toMatchObject({ name: 'stays', state: 'ready', restarts: 0 });
});

it('a lazy server with a card shows its tools without being started, until it is called; then its own list counts', async () => {
  await using dir = await tempDir();
  const card = join(dir.path, 'card.json');
  await writeFile(
    card,
    JSON.stringify({ name: 'm', tools: [toolNamed('note', { title: 'From the card' })] }),
  );
  const servers = {
    carded: { ...misbehavingServer(), lazy: true, card },
    cardless: { ...misbehavingServer(), lazy: true, card: join(dir.path, 'none') },
  };
  await using host = startTestHost({ servers });
  const { tools, problems } = await host.inventory();
  expect(tools.filter(({ name }) => name.startsWith('mcp_carded_'))).toEqual([
    { ...toolNamed('note', { title: 'From the card' }), name: 'mcp_carded__note' },
  ]);
  expect(host.servers()[0]).toMatchObject({ state: 'idle', pids: [], toolCount: 1 });
  expect(problems[0]).toEqual({ server: 'cardless', message: 'its card cannot be read: ENOENT' });
  expect(host.servers()[1]).toMatchObject({ state: 'ready', toolCount: 8 });

  const calls = ['x', 'y'].map((text) => call(host, 'mcp_carded__note', { text }));
  const [one, two] = (await Promise.all(calls)).map(jsonResult);
  expect(one!.pid).toBe(two!.pid);
  expect(host.servers()[0]).toMatchObject({ state: 'ready', toolCount: 8 });
  expect((await host.inventory()).tools).toHaveLength(16);
});
