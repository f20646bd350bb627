import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker, requestAddress } from '@signalbox/client';
import { everythingServer } from '../agents/everything-server.ts';
import { openRawStdioSession } from '../calls/raw-stdio-client.ts';
import { issueWorkerTokens, startUp } from '../signalbox-up.ts';
import { type CountTable, leastOf } from './count-table.ts';
import { awaitCountedProcesses } from './counted-processes.ts';
import type { Counts } from './counts.ts';

const main = fileURLToPath(new URL('../../../apps/cli/src/main.ts', import.meta.url));
const own = ['broker', 'orchestrator', 'worker'];
const servers = ['safe', 'unsafe'];
/** The first times load code and fill caches. */
const warmUps = 3;
const times = 5;

/**
 * Starts `signalbox up` from its sources, and a worker that serves MCP, and carries out each operation several times, one after the other.
 * Resolves with the least counts: a message that arrives in two parts, now and then, adds some. A caller with a `signal` handles Ctrl-C: it
 * does not reach `signalbox up`, and the signal ends the measurement between two operations.
 */
export async function measureCounts(signal?: AbortSignal): Promise<CountTable> {
  await using opened = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'signalbox-counts-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const counted = opened.use(await awaitCountedProcesses(home));
  const server = (part: string) => ({
    command: process.execPath,
    args: [...counted.options(part), ...everythingServer.args],
  });
  const config = {
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { safe: server('safe'), unsafe: { ...server('unsafe'), neverRepeat: ['echo'] } },
    roles: { worker: { tools: ['mcp_safe__echo', 'mcp_unsafe__echo'] } },
  };
  await writeFile(join(home, 'signalbox.yaml'), JSON.stringify(config));
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  const env = {
    ...{ PATH, HOME: home, SIGNALBOX_LOG: 'error', NODE_NO_WARNINGS: '1' },
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
  const program = [...counted.options(), main];
  const up = opened.use(
    await startUp(program, { home, env, options: ['--no-face'], detached: signal !== undefined }),
  );
  const { url } = up.ready.broker;
  const { sender, caller, taker } = await issueWorkerTokens(up.ready, ['sender', 'caller', 'pile', 'taker']);
  const client = await connectBroker({ url, token: sender!, agent: requestAddress('sender') });
  opened.defer(() => client.close());
  const consumer = await connectBroker({ url, token: taker!, agent: 'taker' });
  opened.defer(() => consumer.close());
  const { messages } = await consumer.subscribe();
  const arriving = messages[Symbol.asyncIterator]();
  const session = opened.use(
    await openRawStdioSession({
      command: process.execPath,
      args: [...program, 'worker', 'mcp'],
      env: { ...env, SIGNALBOX_URL: url, SIGNALBOX_TOKEN: caller! },
    }),
  );
  await counted.present([...own, ...servers]);
  const deliver = (to: string) => client.deliver({ to, kind: 'note', body: { text: 'x'.repeat(280) } });
  // A cached result would answer for a message that was sent before. All are of one length.
  let numbered = 100;
  const operations = {
    deliver: () => deliver('pile'),
    consume: async () => {
      const [arrived] = await Promise.all([arriving.next(), deliver('taker')]);
      await consumer.ack([arrived.value!.seq!]);
    },
    'safe-call': () => session.call('mcp_safe__echo', `message ${numbered++}.`),
    'unsafe-call': () => session.call('mcp_unsafe__echo', `message ${numbered++}.`),
  };
  const table: CountTable = {};
  for (const [name, operation] of Object.entries(operations)) {
    const found: Record<string, Counts>[] = [];
    for (let time = 1 - warmUps; time <= times; time++) {
      signal?.throwIfAborted();
      const counts = await counted.during(operation);
      if (time > 0) found.push(counts);
    }
    table[name] = leastOf(found, own);
  }
  return table;
}
