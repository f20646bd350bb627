import { readFile } from 'node:fs/promises';
import { startProcess } from '../processes.ts';

export interface IdleWorkersOrder {
  workers: { agent: string; token: string }[];
}

/** Idle workers in their own process, and the time until the last one was subscribed. */
export interface IdleWorkers extends AsyncDisposable {
  connectedMs: number;
}

const answerTimeoutMs = 120_000;

export async function startIdleWorkers(url: string, order: IdleWorkersOrder): Promise<IdleWorkers> {
  await using opened = new AsyncDisposableStack();
  const child = opened.use(
    await startProcess(new URL('./idle-workers-process.ts', import.meta.url), { url }),
  );
  const connectedMs = await child.ask<number>(order, answerTimeoutMs);
  const resources = opened.move();
  return { connectedMs, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** The number of open files that a process needs besides its connections. */
const otherFiles = 100;

/** Returns the number of connections that a process may have open here; infinity if the system does not tell. */
export async function mostConnections(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const most = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return most === undefined ? Number.POSITIVE_INFINITY : Number(most) - otherFiles;
}
