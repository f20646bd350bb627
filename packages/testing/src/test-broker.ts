import { readFile } from 'node:fs/promises';
import { type Broker, type BrokerOptions, startBroker } from '@signalbox/broker';
import { tempDir } from './temp-dir.ts';

/** A real broker on a free port with a data directory of its own; both are gone when disposed. */
export interface TestBroker extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly broker: Broker;
  /** The text of a new token. */
  token(agent: string, role?: string, ttlMs?: number): Promise<string>;
  operatorToken(): Promise<string>;
  /** Stops the broker and starts another on the same directory and port. */
  restart(options?: Partial<BrokerOptions>): Promise<void>;
}

export async function startTestBroker(options: Partial<BrokerOptions> = {}): Promise<TestBroker> {
  const directory = await tempDir();
  const dataDir = options.dataDir ?? `${directory.path}/data`;
  let broker = await startBroker({ port: 0, ...options, dataDir });
  const { port, url } = broker;
  return {
    port,
    url,
    dataDir,
    get broker() {
      return broker;
    },
    async token(agent, role = 'worker', ttlMs) {
      const issued = await broker.issueToken({ agent, role, ...(ttlMs !== undefined && { ttlMs }) });
      return issued.token;
    },
    async operatorToken() {
      return (await readFile(broker.operatorTokenFile, 'utf8')).trim();
    },
    async restart(changes = {}) {
      await broker.stop();
      broker = await startBroker({ ...options, ...changes, port, dataDir });
    },
    async [Symbol.asyncDispose]() {
      await broker.stop();
      await directory[Symbol.asyncDispose]();
    },
  };
}
