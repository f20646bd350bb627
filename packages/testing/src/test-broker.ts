import { readFile } from 'node:fs/promises';
import { type Broker, type BrokerOptions, startBroker } from '@signalbox/broker';
import { lastingPort } from './lasting-port.ts';
import { tempDir } from './temp-dir.ts';
import { storesOption, testStores } from './test-stores.ts';

/** A real broker on a free port with a data directory of its own; both are removed when it is disposed. */
export interface TestBroker extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly broker: Broker;
  /** Issues a new token and returns its text. */
  token(agent: string, role?: string, ttlMs?: number): Promise<string>;
  /** Returns the agent's single token, which is issued at the first call; for `operator` the operator's own. */
  tokenOf(agent: string, role?: string): Promise<string>;
  operatorToken(): Promise<string>;
  /** Stops the broker and starts another one on the same directory and port. */
  restart(options?: Partial<BrokerOptions>): Promise<void>;
}

/**
 * Starts a broker. If only `now` is given, it is also the monotonic clock: then time passes, and the clock is never stepped. `dataDir`
 * replaces the directory of its own, and stays when the broker is disposed.
 */
export async function startTestBroker(given: Partial<BrokerOptions> = {}): Promise<TestBroker> {
  const elsewhere = await testStores();
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const dataDir = given.dataDir ?? `${directory.path}/data`;
  if (elsewhere && !given.dataDir) starting.defer(() => elsewhere.drop(dataDir));
  const options = {
    ...(given.now && { monotonic: given.now }),
    ...(await storesOption(dataDir)),
    ...given,
  };
  const free = options.port ?? (await lastingPort());
  let broker = await startBroker({ ...options, port: free, dataDir });
  const { port, url } = broker;
  const resources = starting.move();
  const tokens = new Map<string, Promise<string>>();
  const token: TestBroker['token'] = async (agent, role = 'worker', ttlMs) => {
    const issued = await broker.issueToken({ agent, role, ...(ttlMs !== undefined && { ttlMs }) });
    return issued.token;
  };
  const operatorToken = async () => (await readFile(broker.operatorTokenFile, 'utf8')).trim();
  return {
    port,
    url,
    dataDir,
    get broker() {
      return broker;
    },
    token,
    tokenOf(agent, role) {
      const known = tokens.get(agent) ?? (agent === 'operator' ? operatorToken() : token(agent, role));
      tokens.set(agent, known);
      return known;
    },
    operatorToken,
    async restart(changes = {}) {
      await broker.stop();
      broker = await startBroker({ ...options, ...changes, port, dataDir });
    },
    async [Symbol.asyncDispose]() {
      await broker.stop();
      await resources.disposeAsync();
    },
  };
}
