import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { BrokerOptions } from '@signalbox/broker';
import { connectWire, startChild, tempDir, type WireClient } from '@signalbox/testing';
import { expect } from 'vitest';

const MiB = 1024 * 1024;

/** Rates so high that no flood has to wait, since the broker must bear it. The rate of messages is the default. */
const unboundedRates = { bytes: 1e12, bytesBurst: 1e12, frames: 1e9, framesBurst: 1e9 };

/** Memory of the broker's process in bytes: `live` after a garbage collection, `peak` as the largest resident set so far. */
interface Memory {
  live: number;
  peak: number;
}

/** A broker in its own process, with an honest pair of clients that it must serve during any abuse by others. */
export interface MonitoredBroker extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  readonly operator: WireClient;
  token(agent: string, role?: string): Promise<string>;
  connect(agent: string, role?: string): Promise<WireClient>;
  /**
   * Runs the abuse while the honest pair exchanges messages. Expects that every exchange succeeds, including one that
   * begins after the abuse; that live memory grows by less than 32 MiB; and that the peak grows by less than `peakMiB`
   * (default 192). Resolves with what the abuse returns.
   */
  during<T>(abuse: () => Promise<T>, peakMiB?: number): Promise<T>;
}

export async function startMonitoredBroker(
  options: Pick<BrokerOptions, 'heartbeatMs' | 'limits' | 'roleLimits'> = {},
): Promise<MonitoredBroker> {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const dataDir = `${directory.path}/data`;
  let reported: ((memory: Memory) => void) | undefined;
  const child = starting.use(
    await startChild<{ url: string; operatorTokenFile: string }>(
      new URL('./monitored-broker-main.ts', import.meta.url),
      {
        args: [
          JSON.stringify({ dataDir, durability: 'process', limits: { rates: unboundedRates }, ...options }),
        ],
        onMessage: (message) => reported?.(message as Memory),
      },
    ),
  );
  const { url, operatorTokenFile } = child.ready;
  const secret = (await readFile(operatorTokenFile, 'utf8')).trim();
  const operator = starting.use(await connectWire(url, { agent: 'operator', token: secret }));
  const token = async (agent: string, role = 'worker'): Promise<string> => {
    operator.send({ type: 'admin', request_id: `for-${agent}`, op: 'token_issue', params: { agent, role } });
    const { result } = await operator.next('admin_result', { request_id: `for-${agent}` });
    return (result as { token: string }).token;
  };
  const opened = starting.move();
  const connect = async (agent: string, role?: string): Promise<WireClient> =>
    opened.use(await connectWire(url, { agent, token: await token(agent, role) }));
  const memory = (): Promise<Memory> =>
    new Promise((resolve) => {
      reported = resolve;
      child.send({});
    });
  const pair = { from: await connect('honest-sender', 'orchestrator'), to: await connect('honest-reader') };
  pair.to.send({ type: 'subscribe', request_id: 's' });
  await pair.to.next('subscribed');
  let rounds = 0;
  return {
    url,
    dataDir,
    operator,
    token,
    connect,
    async during(abuse, peakMiB = 192) {
      const before = await memory();
      const abused = abuse();
      const first = rounds;
      let isOver = false;
      const over = (): void => {
        isOver = true;
      };
      abused.then(over, over);
      do {
        await round(pair, ++rounds);
        // The pause keeps the pair's own work small, so that the cost of the abuse shows.
        await pause(2);
      } while (!isOver);
      const found = await abused;
      await round(pair, ++rounds);
      const after = await memory();
      expect(rounds - first).toBeGreaterThan(1);
      expect((after.live - before.live) / MiB).toBeLessThan(32);
      expect((after.peak - before.peak) / MiB).toBeLessThan(peakMiB);
      return found;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** Sends one durable message and waits for its receipt and its confirmed ack. */
async function round({ from, to }: { from: WireClient; to: WireClient }, n: number): Promise<void> {
  const id = `round-${n}`;
  from.send({ type: 'deliver', to: 'honest-reader', id, kind: 'note' }, '{}');
  await from.next('delivered', { id });
  const { seq } = await to.next('message', { id });
  to.send({ type: 'ack', seqs: [seq], request_id: id });
  await to.next('ack_result', { request_id: id });
}
