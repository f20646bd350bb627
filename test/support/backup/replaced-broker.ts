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
import { expect, vi } from 'vitest';
import { reached } from '../broker/broker-with-clients.ts';

const count = 'mcp_counter__count';
const slow = 'mcp_counter__slow';

/**
 * Runs a broker with an orchestrator, makes a backup while a call runs, and then stops both at a moment when another call has run
 * and a note is stored, but neither receipt has arrived. One more message is sent while there is no connection.
 */
export async function startInterrupted() {
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
