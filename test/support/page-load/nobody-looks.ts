import { setTimeout as pause } from 'node:timers/promises';
import { connectWire, tempDir } from '@signalbox/testing';
import type { Browser } from 'playwright-core';
import { openPage } from '../browser/chromium.ts';
import { sendAll, takeAll } from '../scheduled/scheduled-load.ts';
import { type PageBroker, startPageBroker } from './page-broker.ts';
import { quantile } from './statistics.ts';

const most = 10_000_000;
const bounds = { messages: most, bytes: 2 ** 33 };
const limits = {
  rates: {
    messages: most,
    messagesBurst: most,
    frames: most,
    framesBurst: most,
    bytes: 2 ** 30,
    bytesBurst: 2 ** 30,
  },
  sender: bounds,
  senderToRecipient: bounds,
  recipient: bounds,
  inbox: bounds,
};

/** The time after which the dashboard has closed what a page used, in milliseconds. */
const idleMs = 65_000;

/** The cost of the same messages, as a ratio to a broker without the dashboard: the median of some rounds. */
export interface Unwatched {
  /** The ratio of another broker without the dashboard, which shows the noise of the machine. */
  same: number;
  /** The ratio of a broker whose dashboard was never opened. */
  neverOpened: number;
  /** The ratio of a broker whose dashboard was opened, used, and closed. */
  closed: number;
  /** The error of a ratio by chance: two standard errors of the median, from the spread between equal brokers. */
  error: number;
  /** The processor time of one message without the dashboard, in microseconds. */
  messageMicros: number;
}

/** Measures the cost of messages while nobody looks at the dashboard, on four brokers in turn. */
export async function measureUnwatched(
  browser: Browser,
  { messages, rounds }: { messages: number; rounds: number },
): Promise<Unwatched> {
  await using stack = new AsyncDisposableStack();
  const start = async (hasPage: boolean): Promise<{ broker: PageBroker; cost: () => Promise<number> }> => {
    const directory = stack.use(await tempDir());
    const broker = stack.use(await startPageBroker({ dataDir: `${directory.path}/data`, hasPage, limits }));
    const names = ['alice', 'bob'].map((agent) => ({ agent, role: 'worker' }));
    const [aliceToken, bobToken] = await broker.tokens(names);
    const alice = stack.use(await connectWire(broker.url, { agent: 'alice', token: aliceToken! }));
    const bob = stack.use(await connectWire(broker.url, { agent: 'bob', token: bobToken! }));
    const { came } = await takeAll(bob);
    let round = 0;
    const cost = async (): Promise<number> => {
      const before = await broker.figures();
      const all = came(messages);
      await sendAll(alice, `r${++round}`, messages);
      await all;
      return ((await broker.figures()).cpuMicros - before.cpuMicros) / messages;
    };
    return { broker, cost };
  };
  const without = await start(false);
  const same = await start(false);
  const neverOpened = await start(true);
  const closed = await start(true);
  {
    await using opened = await openPage(browser);
    const { page } = opened;
    await page.goto(await closed.broker.link());
    for (const view of ['agents', 'timeline', 'dead', 'system', '']) {
      await page.goto(`${closed.broker.origin}/ui/#/${view}`);
      await page.getByText('live', { exact: true }).waitFor();
    }
  }
  await pause(idleMs);
  const brokers = [without, same, neverOpened, closed];
  const costs: number[][] = brokers.map(() => []);
  // The first rounds warm up. Each round begins with another broker.
  for (let round = -2; round < rounds; round++) {
    for (let turn = 0; turn < brokers.length; turn++) {
      const at = (turn + round + 2) % brokers.length;
      const cost = await brokers[at]!.cost();
      if (round >= 0) costs[at]!.push(cost);
    }
  }
  const ratios = (of: number): number[] => costs[of]!.map((cost, round) => cost / costs[0]![round]!);
  const ratio = (of: number): number => quantile(ratios(of), 0.5);
  // The deviation of a normal distribution is 1.48 times its median one, and the error of a median 1.25 times that of a mean.
  const deviations = ratios(1).map((one) => Math.abs(one - ratio(1)));
  const error = (2 * 1.25 * 1.48 * quantile(deviations, 0.5)) / Math.sqrt(rounds);
  return {
    same: ratio(1),
    neverOpened: ratio(2),
    closed: ratio(3),
    error,
    messageMicros: quantile(costs[0]!, 0.5),
  };
}
