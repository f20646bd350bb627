import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startProcess } from '../processes.ts';

/** The cost of one operation in µs: the CPU time of all processes that work for it, and the elapsed time. */
export interface Cost {
  cpuUs: number;
  wallUs: number;
}

/** One round of all parts. */
export interface SmokeRound {
  /** One frame to a bare WebSocket server and back. */
  echo: Cost;
  /** One row into a bare SQLite table and out again, in fsynced commits of 64. */
  row: Cost;
  request: Cost;
  enqueue: Cost;
}

/** Starts the bare parts, and a broker with its client and a responder. */
export async function openParts(): Promise<AsyncDisposable & { round(): Promise<SmokeRound> }> {
  await using opened = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'signalbox-bench-smoke-'));
  opened.defer(() => rm(dir, { recursive: true, force: true }));
  const start = async (script: string, setup: unknown): Promise<Child> =>
    opened.use(await startProcess(new URL(script, import.meta.url), setup));
  const raw = await start('./raw-server-process.ts', { dir });
  const rawClient = await start('./raw-client-process.ts', raw.facts);
  const brokerSetup = { dataDir: join(dir, 'state'), durability: 'full' };
  const broker = await start('../peers/signalbox-broker-process.ts', brokerSetup);
  const { url, server: token } = broker.facts;
  const responder = await start('../calls/responder-process.ts', { url, token });
  const client = await start('./client-process.ts', broker.facts);
  const resources = opened.move();
  return {
    round: async () => ({
      echo: await costOf([rawClient, raw], { count: 3000 }),
      request: await costOf([client, broker, responder], { name: 'request/64/300B', count: 1000 }),
      row: await costOf([raw], { count: 3200 }),
      enqueue: await costOf([client, broker], { name: 'enqueue/64/300B', count: 2000 }),
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const answerTimeoutMs = 60_000;

/** Measures an order to the first process, which answers with the milliseconds that it took. */
async function costOf(children: [Child, ...Child[]], order: { count: number; name?: string }): Promise<Cost> {
  const before = await cpuMsOf(children);
  const wallMs = await children[0].ask<number>(order, answerTimeoutMs);
  const cpuMs = (await cpuMsOf(children)) - before;
  return { cpuUs: (cpuMs / order.count) * 1000, wallUs: (wallMs / order.count) * 1000 };
}

async function cpuMsOf(children: readonly Child[]): Promise<number> {
  const all = await Promise.all(children.map((child) => child.cpuMs()));
  return all.reduce((sum, one) => sum + one, 0);
}
