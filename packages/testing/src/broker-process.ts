import { readFile } from 'node:fs/promises';
import { startChild } from './child-process.ts';
import { lastingPort } from './lasting-port.ts';

/** The script of a broker's own process: argv is data directory and port; its first message is a {@link BrokerReady}. */
export const brokerMain = new URL('./broker-main.ts', import.meta.url);

/** The message of a broker's process when it listens. */
export interface BrokerReady {
  url: string;
  port: number;
  operatorTokenFile: string;
}

/** A broker in a process of its own, so that it can be killed. */
export interface BrokerProcess extends AsyncDisposable {
  readonly pid: number;
  readonly url: string;
  readonly port: number;
  operatorToken(): Promise<string>;
  /** Kills the process with SIGKILL, and waits until it has ended. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  terminate(): Promise<number | null>;
}

/** Starts a broker's process and waits until it listens. Rejects with its stderr if it ends before. */
export async function startBrokerProcess(dataDir: string, port?: number): Promise<BrokerProcess> {
  const args = [dataDir, String(port ?? (await lastingPort()))];
  const child = await startChild<BrokerReady>(brokerMain, { args });
  const { url, port: actual, operatorTokenFile } = child.ready;
  return {
    pid: child.pid,
    url,
    port: actual,
    operatorToken: async () => (await readFile(operatorTokenFile, 'utf8')).trim(),
    async kill() {
      await child.end('SIGKILL');
    },
    terminate: async () => (await child.end('SIGTERM')).code,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
