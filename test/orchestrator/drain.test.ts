import { writeFile } from 'node:fs/promises';
import { type BrokerClient, connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { type Orchestrator, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer, readCounter, startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test } from 'vitest';

/** A broker, a host with a counter server, a journal, and a worker with one call that runs and three that wait in orchestrator A. */
async function startBusyOrchestrator(drainMs?: number) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const broker = starting.use(await startTestBroker({ durability: 'process' }));
  const counterFile = `${directory.path}/counter.jsonl`;
  const host = starting.use(startMcpHost({ servers: { counter: counterServer(counterFile) } }));
  const journal = starting.use(await openSqliteJournal({ file: `${directory.path}/journal.db` }));
  const client = starting.use(await connectAsOrchestrator(broker));
  const serve = (as: BrokerClient, ms = 10_000): Promise<Orchestrator> =>
    startOrchestrator({
      ...{ client: as, host, policy: wholePolicy(), journal },
      ...{ concurrency: { perWorker: 1 }, drainMs: ms },
    });
  const a = starting.use(await serve(client, drainMs));
  const token = await broker.token('w1');
  const worker = starting.use(await McpProxyExecutor.connect({ url: broker.url, token, agent: 'w1' }));
  const opener = `${directory.path}/open`;
  const call = (n: number) => worker.execute({ name: 'mcp_counter__gate', arguments: { file: opener, n } });
  const ran = () =>
    readCounter(counterFile)
      .filter(({ at }) => at === 'start')
      .map(({ args }) => args.n);
  const running = call(0);
  await expect.poll(ran).toEqual([0]);
  const waiting = [1, 2, 3].map(call);
  await expect.poll(() => a.inFlight).toBe(4);
  const opened = starting.move();
  return {
    broker,
    client,
    a,
    serve,
    call,
    running,
    waiting,
    ran,
    letAllEnd: () => writeFile(opener, ''),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function connectAsOrchestrator({ url, token }: TestBroker): Promise<BrokerClient> {
  const agent = 'orchestrator';
  return connectBroker({ url, token: await token(agent, 'orchestrator'), agent });
}

test('an orchestrator that stops answers what runs and leaves what waits to the next one, at the cost of no attempt', async () => {
  await using busy = await startBusyOrchestrator();
  const stopped = busy.a.stop();
  const late = busy.call(4);
  await busy.letAllEnd();
  expect(await busy.running).toHaveProperty('result.success', true);
  await stopped;
  expect(busy.ran()).toEqual([0]);
  await busy.client.close();

  await using client = await connectAsOrchestrator(busy.broker);
  await expect.poll(async () => (await client.peek()).length).toBe(4);
  expect((await client.peek()).filter(({ attempt }) => attempt !== undefined)).toEqual([]);
  await using _b = await busy.serve(client);
  for (const result of await Promise.all([...busy.waiting, late])) {
    expect(result).toHaveProperty('result.success', true);
  }
  expect(busy.ran()).toEqual([0, 1, 2, 3, 4]);
});

test('what was handed back goes to the next orchestrator on the same connection too', async () => {
  await using busy = await startBusyOrchestrator();
  const stopped = busy.a.stop();
  await busy.letAllEnd();
  await Promise.all([busy.running, stopped]);
  await using _b = await busy.serve(busy.client);
  await Promise.all(busy.waiting);
  expect(busy.ran()).toEqual([0, 1, 2, 3]);
});

test('a drain that takes too long is given up, and still nothing that waited is answered or run', async () => {
  await using busy = await startBusyOrchestrator(100);
  await busy.a.stop();
  expect(busy.ran()).toEqual([0]);
  await busy.client.close();
  await busy.letAllEnd();
  await using client = await connectAsOrchestrator(busy.broker);
  await using _b = await busy.serve(client);
  for (const result of await Promise.all(busy.waiting)) expect(result).toHaveProperty('result.success', true);
  expect(busy.ran().filter((n) => n !== 0)).toEqual([1, 2, 3]);
});
