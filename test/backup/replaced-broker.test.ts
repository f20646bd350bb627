import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { addJournal, beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup } from '@signalbox/daemon/backup';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer, readCounter, startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { expect, test, vi } from 'vitest';
import { reached } from '../support/broker/broker-with-clients.ts';

const count = 'mcp_counter__count';
const slow = 'mcp_counter__slow';

test('What was sent without a receipt is not sent to a restored broker: a call that ran is outcome_unknown and does not run again.', async () => {
  await using stack = await startInterrupted();
  await using _restored = await stack.startRestored();
  expect(await stack.executed).toMatchObject({
    error: {
      code: 'outcome_unknown',
      may_have_run: true,
      message: expect.stringContaining('replaced or restored'),
    },
  });
  await expect(stack.note).rejects.toMatchObject({
    code: 'connection_lost',
    message: expect.stringContaining('replaced or restored'),
    details: { id: 'note', mayBeStored: true },
  });
  // Its request had its receipt and is in the backup: the restored orchestrator tells its end.
  expect(await stack.receipted).toMatchObject({ error: { code: 'outcome_unknown' } });
  // It never left for the broker that is gone.
  expect(await stack.later).toMatchObject({ id: 'later', duplicate: false });
  expect(await stack.runAnother()).toMatchObject({ result: { success: true } });
  expect([stack.runs('interrupted'), stack.runs('another')]).toEqual([1, 1]);
});

test('A restart of the same broker loses nothing: what had no receipt is sent again, and runs once.', async () => {
  await using stack = await startInterrupted();
  await using _again = await stack.startAgain();
  expect(await stack.executed).toMatchObject({ result: { success: true } });
  expect(await stack.note).toMatchObject({ id: 'note', duplicate: true });
  expect(await stack.later).toMatchObject({ id: 'later', duplicate: false });
  expect(await stack.runAnother()).toMatchObject({ result: { success: true } });
  expect([stack.runs('interrupted'), stack.runs('another')]).toEqual([1, 1]);
});

test('A request that was answered after the backup is answered again at the restored broker, and not acked in silence.', async () => {
  await using directory = await tempDir();
  const restored = join(directory.path, 'restored');
  const backup = join(directory.path, 'backup');
  await using broker = await startTestBroker({ durability: 'process' });
  const { port } = broker;
  await using ann = await connectBroker({
    url: broker.url,
    token: await broker.tokenOf('ann'),
    agent: 'ann',
  });
  await using server = await connectBroker({
    url: broker.url,
    token: await broker.tokenOf('server'),
    agent: 'server',
  });
  const mayAnswer = Promise.withResolvers<void>();
  const ran: string[] = [];
  await server.serve(['ask'], async ({ message }) => {
    ran.push(message.id);
    await mayAnswer.promise;
    return { kind: 'reply', body: `answer ${ran.length}` };
  });
  const repliesAt = async ({ url, operatorToken }: TestBroker) => {
    await using operator = await connectBroker({
      url,
      token: await operatorToken(),
      agent: 'operator#peeks',
    });
    return (await operator.peek({ address: 'ann' })).map((message) => [message.correlation_id, message.body]);
  };
  await ann.deliver({ to: 'server', kind: 'ask', id: 'question' });
  await vi.waitFor(() => expect(ran).toEqual(['question']));
  {
    const token = await broker.operatorToken();
    await using operator = await connectBroker({ url: broker.url, token, agent: 'operator#asks' });
    await beginBackup(operator, backup);
    await finishBackup(operator, undefined);
  }
  mayAnswer.resolve();
  await vi.waitFor(async () => expect(await repliesAt(broker)).toEqual([['question', '"answer 1"']]));
  await broker.broker.stop();
  await restoreBackup({ backup, dataDir: restored, revokeTokens: false, now: Date.now() });
  await using again = await startTestBroker({ dataDir: restored, port, durability: 'process' });
  await vi.waitFor(async () => expect(await repliesAt(again)).toEqual([['question', '"answer 2"']]));
  expect(ran).toEqual(['question', 'question']);
});

/**
 * Runs a broker with an orchestrator, makes a backup while a call runs, and then stops both at a moment when another call has run
 * and a note is stored, but neither receipt has arrived. One more message is sent while there is no connection.
 */
async function startInterrupted() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const counterFile = join(directory.path, 'counter.jsonl');
  const host = starting.use(startMcpHost({ servers: { counter: counterServer(counterFile) } }));
  const runs = (label: string) =>
    readCounter(counterFile).filter(({ at, args }) => at === 'start' && args.label === label).length;
  const live = join(directory.path, 'live');
  const restored = join(directory.path, 'restored');
  const backup = join(directory.path, 'backup');

  await using broker = await startTestBroker({ dataDir: live, durability: 'process' });
  const { port } = broker;
  const orchestratorToken = await broker.token('orchestrator', 'orchestrator');
  const token = await broker.tokenOf('rosa');
  await broker.tokenOf('sink');
  const proxy = starting.use(await startProxy(port));
  const orchestrator = await startOrchestratorAt(broker, orchestratorToken, host);
  await using _orchestrator = orchestrator;

  const client = starting.use(await connectBroker({ url: proxy.url, token, agent: 'rosa#sends' }));
  const executor = starting.use(await McpProxyExecutor.connect({ url: proxy.url, token, agent: 'rosa' }));
  const receipted = executor.execute({ name: slow, arguments: { ms: 60_000, label: 'receipted' } });
  await vi.waitFor(() => expect(runs('receipted')).toBe(1));
  await using operator = await connectBroker({
    url: broker.url,
    token: await broker.operatorToken(),
    agent: 'operator#asks',
  });
  const begun = await beginBackup(operator, backup);
  await finishBackup(operator, await addJournal(operator, 'orchestrator', begun));

  proxy.mute();
  const executed = executor.execute({ name: count, arguments: { label: 'interrupted' } });
  const note = client.deliver({ to: 'sink', kind: 'note', id: 'note' });
  note.catch(() => undefined);
  await vi.waitFor(async () => {
    expect(runs('interrupted')).toBe(1);
    expect(await operator.peek({ address: 'sink' })).toHaveLength(1);
  });
  proxy.close();
  await reached(client, 'reconnecting');
  const later = client.deliver({ to: 'sink', kind: 'note', id: 'later' });
  await orchestrator[Symbol.asyncDispose]();
  await broker.broker.stop();

  const startAt = async (dataDir: string) => {
    await using again = new AsyncDisposableStack();
    const broker = again.use(await startTestBroker({ dataDir, port, durability: 'process' }));
    again.use(await startOrchestratorAt(broker, orchestratorToken, host));
    proxy.open();
    return again.move();
  };
  const started = starting.move();
  return {
    receipted,
    executed,
    note,
    later,
    runs,
    runAnother: () => executor.execute({ name: count, arguments: { label: 'another' } }),
    startAgain: () => startAt(live),
    async startRestored() {
      await restoreBackup({ backup, dataDir: restored, revokeTokens: false, now: Date.now() });
      return startAt(restored);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Starts an orchestrator whose journal lies in the broker's data directory. */
async function startOrchestratorAt({ url, dataDir }: TestBroker, token: string, host: McpHost) {
  await using starting = new AsyncDisposableStack();
  const journal = starting.use(await openSqliteJournal({ file: join(dataDir, 'journal.db') }));
  const client = starting.use(await connectBroker({ url, token, agent: 'orchestrator' }));
  starting.use(await startOrchestrator({ client, host, policy: wholePolicy(), journal, drainMs: 1 }));
  return starting.move();
}

/** Forwards TCP. Muted, it drops what comes back on the open connections; closed, it ends all of them and takes no new ones. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>();
  const mutes: (() => void)[] = [];
  let isOpen = true;
  const server = createServer((near) => {
    if (!isOpen) return near.destroy();
    const far = dial(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far);
    far.pipe(near);
    mutes.push(() => far.unpipe(near).resume());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    isOpen = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mute: () => {
      for (const mute of mutes) mute();
    },
    close,
    open: () => {
      isOpen = true;
    },
    async [Symbol.asyncDispose]() {
      close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
