import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { JsonLineReader } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { askingServer, oddMcpContentServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { withoutLanes } from '../support/without-lanes.ts';
import { connectMcpClient, eras, watchListChanges } from '../support/worker/mcp-client.ts';
import { startSharedFaceStack } from '../support/worker/shared-face.ts';
import { startFaceProcess, startShim } from '../support/worker/shim.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

/** A tool stack, and a face for it in a process of its own that can be killed. */
async function startKillableFace(servers: Record<string, StdioServerConfig>) {
  await using starting = new AsyncDisposableStack();
  const { path: directory } = starting.use(await tempDir());
  const journal = starting.use(await openSqliteJournal({ file: `${directory}/journal.db` }));
  const stack = starting.use(await startToolStack({ servers, journal }));
  const path = `${directory}/face.sock`;
  let face = await startFaceProcess(path, stack.broker.url);
  starting.defer(async () => void (await face.end('SIGKILL')));
  const started = starting.move();
  return {
    stack,
    path,
    directory,
    kill: () => face.end('SIGKILL'),
    async start() {
      face = await startFaceProcess(path, stack.broker.url);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test('clients of both eras have the results of their calls once although their face was killed, and go on with the next face', async () => {
  await using site = await startKillableFace({ odd: oddMcpContentServer() });
  const { stack } = site;
  await using opened = new AsyncDisposableStack();
  const agents = await Promise.all(
    eras.map(async (era) => {
      const shim = opened.use(startShim(site.path, await stack.broker.token(era)));
      const client = opened.use(await connectMcpClient(shim.transport, { era }));
      return { shim, client, changes: await watchListChanges(client.client), tools: await client.list() };
    }),
  );
  const legacy = agents[eras.indexOf('legacy')]!.client;
  const heard: string[] = [];
  legacy.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.push(params.uri);
  });
  await legacy.request('resources/subscribe', { uri: 'odd://left' });
  // The calls that run while their face is killed go directly to the orchestrator.
  const operator = await stack.client('operator', 'operator');
  for (const { client } of agents) await client.call(echo);
  const direct = async () =>
    (await operator.listConnected({ withStatus: true })).filter(({ lane }) => lane === true).length;
  if (!withoutLanes) await expect.poll(direct).toBe(agents.length);
  const opener = `${site.directory}/open`;
  const running = agents.map(({ client }) => client.call('mcp_counter__gate', { file: opener }));
  await expect.poll(() => stack.ran('gate').length).toBe(2);
  await site.kill();
  const waiting = agents.map(({ client }) => client.call(count));
  await site.start();
  await writeFile(opener, '');
  for (const result of await Promise.all(running))
    expect(result).toMatchObject({ structuredContent: { highWater: 2 } });
  for (const result of await Promise.all(waiting)) expect(result).not.toHaveProperty('isError');
  expect(stack.ran('gate').filter(({ at }) => at === 'start')).toHaveLength(2);
  expect(stack.ran('count').filter(({ at }) => at === 'start')).toHaveLength(2);
  for (const { changes } of agents) await changes.reached(1);

  await site.kill();
  await site.start();
  for (const { shim, client, changes, tools } of agents) {
    expect(await client.list()).toEqual(tools);
    expect(await client.call(count)).not.toHaveProperty('isError');
    await changes.reached(2);
    expect(shim.notices.filter((text) => text.endsWith('is back'))).toHaveLength(2);
  }
  await legacy.request('resources/read', { uri: 'odd://touch/left' });
  await expect.poll(() => heard).toEqual(['odd://left']);
});

test('a tool that asks its client for input asks again when its face is replaced in a later round, and runs to its end', async () => {
  await using fixture = await startFixture();
  const server = { type: 'http' as const, url: fixture.url, prefix: false };
  await using site = await startSharedFaceStack({ servers: { fixture: server } });
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  const asked: string[] = [];
  await using client = await connectMcpClient(shim.transport, {
    capabilities: { elicitation: { form: {} } },
    prepare(one) {
      one.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message.split(': ')[1]!);
        if (asked.length === 2) {
          await site.face.close();
          site.face = await site.serve();
        }
        return { action: 'accept', content: { name: 'Ada', color: 'blue' } };
      });
    },
  });
  const result = await client.call('test_input_required_result_multi_round');
  expect(result).toMatchObject({ content: [{ text: 'both steps done' }] });
  expect(asked).toEqual(['Step 1', 'Step 2', 'Step 1', 'Step 2']);
});

test('a server of an older revision asks again when the face is killed while it waits, and is called once', async () => {
  await using site = await startKillableFace({ asking: { ...askingServer(), prefix: false } });
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  let asked = 0;
  await using client = await connectMcpClient(shim.transport, {
    capabilities: { elicitation: { form: {} } },
    prepare(one) {
      one.setRequestHandler('elicitation/create', async () => {
        if (++asked === 1) {
          await site.kill();
          await site.start();
        }
        return { action: 'accept', content: { name: 'Ada' } };
      });
    },
  });
  expect(await client.call('lend')).toMatchObject({ content: [{ text: expect.stringContaining('Ada') }] });
  expect(asked).toBe(2);
  expect(await client.call('report')).toMatchObject({
    content: [{ text: expect.stringContaining('"called":["lend"],"cancelled":[]') }],
  });
});

test('a client that does not read stops its own calls, and gets every answer when it reads', async () => {
  await using site = await startSharedFaceStack();
  await using shim = startShim(site.path, await site.stack.broker.token('rosa'));
  const bytes = 1_000_000;
  const calls = 12;
  const write = (message: object) => shim.toShim.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  write({ id: 0, method: 'initialize', params });
  await once(shim.fromShim, 'readable');
  write({ method: 'notifications/initialized' });
  for (let id = 1; id <= calls; id++)
    write({ id, method: 'tools/call', params: { name: 'mcp_counter__big', arguments: { bytes } } });
  await expect.poll(() => site.stack.ran('big').filter(({ at }) => at === 'end').length).toBe(calls);
  expect(shim.fromShim.readableLength + shim.fromShim.writableLength).toBeLessThan(calls * bytes * 0.5);
  const ids = new Set<number>();
  const lines = new JsonLineReader();
  for await (const chunk of shim.fromShim) {
    for (const line of lines.push(chunk as Buffer)) {
      const { id, result } = JSON.parse(line) as { id?: number; result?: { isError?: boolean } };
      expect(result?.isError).toBeUndefined();
      if (id) ids.add(id);
    }
    if (ids.size === calls) break;
  }
  expect(ids.size).toBe(calls);
});
