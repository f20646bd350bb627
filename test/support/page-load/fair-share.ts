import { connectWire } from '@signalbox/testing';
import { signedIn } from '../dashboard/api-sign-in.ts';
import { exchange } from '../neighbours/neighbours.ts';
import type { PageBroker } from './page-broker.ts';
import { quantile } from './statistics.ts';

/** The times that an honest pair waited for replies and that the broker held its event loop up, in milliseconds. */
export interface Waited {
  p50Ms: number;
  p99Ms: number;
  heldUpMs: number;
}

/** The effect on an honest pair of pages that ask as fast as they may. */
export interface FairShare {
  atRest: Waited;
  beside: Waited;
  /** The number of answers to the greedy pages, by HTTP status. */
  answers: Map<number, number>;
}

/** The read that costs the broker most. */
const paths = [
  'attention',
  'agents',
  'timeline?since=0',
  'timeline?since=0&text=nowhere',
  'dead-letters?limit=1000',
  'tokens',
];
/** Twice the number of requests that a sign-in may make at once. */
const loops = 32;

/** Lets a pair exchange asks and replies, in turn alone and beside so many greedy sign-ins of different people. */
export async function measureFairShare(
  broker: PageBroker,
  { rounds, asks, greedy }: { rounds: number; asks: number; greedy: number },
): Promise<FairShare> {
  const names = ['asker', 'server'] as const;
  const [askerToken, serverToken] = await broker.tokens(names.map((agent) => ({ agent, role: 'worker' })));
  await using asker = await connectWire(broker.url, { agent: 'asker', token: askerToken! });
  await using server = await connectWire(broker.url, { agent: 'server', token: serverToken! });
  for (const one of [asker, server]) {
    one.send({ type: 'subscribe', request_id: 's' });
    await one.next('subscribed');
  }
  let asked = 0;
  const measure = async (): Promise<Waited> => {
    await broker.figures();
    const times: number[] = [];
    for (let ask = 0; ask < asks; ask++) {
      const start = performance.now();
      await exchange(asker, server, `fair-${greedy}-${++asked}`);
      times.push(performance.now() - start);
    }
    const { heldUpMs } = await broker.figures();
    return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), heldUpMs };
  };
  const signIns = await Promise.all(
    Array.from({ length: greedy }, async (_, index) =>
      signedIn(broker, await broker.person(`greedy-${index}`)),
    ),
  );
  const answers = new Map<number, number>();
  await measure();
  const atRest: Waited[] = [];
  const beside: Waited[] = [];
  for (let round = 0; round < rounds; round++) {
    atRest.push(await measure());
    let isOver = false;
    const flood = signIns.flatMap(({ get }) =>
      Array.from({ length: loops }, async (_, index) => {
        for (let at = index; !isOver; at++) {
          const { status } = await get(paths[at % paths.length]!);
          answers.set(status, (answers.get(status) ?? 0) + 1);
        }
      }),
    );
    beside.push(await measure());
    isOver = true;
    await Promise.all(flood);
  }
  const median = (of: readonly Waited[]): Waited => {
    const middle = (figure: keyof Waited): number =>
      quantile(
        of.map((waited) => waited[figure]),
        0.5,
      );
    return { p50Ms: middle('p50Ms'), p99Ms: middle('p99Ms'), heldUpMs: middle('heldUpMs') };
  };
  return { atRest: median(atRest), beside: median(beside), answers };
}
