import { messageOf } from '@signalbox/protocol';
import { unlessAborted } from './abortable.ts';
import {
  type CallMeasurement,
  type CallSeries,
  callsOfHttpClient,
  httpClients,
} from './calls/call-series.ts';
import { type Measurement, medianOf } from './measure.ts';
import type { Peer } from './peers/peer.ts';
import type { CallsReport, MessagesReport, Skipped } from './report/benchmarks.ts';
import { openPeer, type RunningPeer } from './running-peer.ts';
import { median } from './statistics.ts';
import type { Workload } from './workloads.ts';

export interface RoundsOptions {
  rounds: number;
  seconds: number;
  /** Ends it between runs, and the run that is under way. */
  signal: AbortSignal;
  tell: (line: string) => void;
}

/**
 * Every peer is up all the time, but only one works. After a failed run a peer starts anew, without that workload; one that
 * does not come up is left out.
 */
export async function runMessages(
  peers: readonly Peer[],
  workloads: readonly Workload[],
  options: RoundsOptions,
): Promise<MessagesReport> {
  const { rounds, seconds, signal, tell } = options;
  const skipped: Skipped[] = [];
  const versions = new Map<string, string>();
  const running = new Map<Peer, RunningPeer>();
  await using opened = new AsyncDisposableStack();
  opened.defer(() => Promise.all([...running.values()].map((one) => one[Symbol.asyncDispose]())).then());
  const open = async (peer: Peer): Promise<void> => {
    signal.throwIfAborted();
    tell(`starting ${peer.name}`);
    try {
      const peerRun = await openPeer(peer);
      running.set(peer, peerRun);
      versions.set(peer.name, peerRun.version);
    } catch (thrown) {
      leaveOut(peer.name, thrown);
    }
  };
  const leaveOut = (name: string, thrown: unknown): void => {
    signal.throwIfAborted();
    skipped.push({ name, reason: messageOf(thrown) });
    tell(`left out: ${name}: ${messageOf(thrown)}`);
  };
  for (const peer of peers) await open(peer);
  const runs = new Runs<{ workload: Workload; peer: Peer }>();
  for (const workload of workloads) for (const peer of peers) runs.add({ workload, peer });
  for (let round = 1; round <= rounds; round++) {
    for (const [key, measured] of runs.inOrderOf(round)) {
      const { workload, peer } = key;
      const peerRun = running.get(peer);
      if (!peerRun) continue;
      try {
        const run = await unlessAborted(signal, () => peerRun.run(workload, seconds));
        measured.push(run);
        tell(`round ${round} of ${rounds}: ${workload.name} ${peer.name} ${summary(run)}`);
      } catch (thrown) {
        runs.all.delete(key);
        leaveOut(`${peer.name} ${workload.name}`, thrown);
        running.delete(peer);
        await peerRun[Symbol.asyncDispose]();
        await open(peer);
      }
    }
  }
  const rows = runs.rows(({ workload, peer }) => ({
    workload: workload.name,
    peer: peer.name,
    receiptMeans: peer.receiptMeans,
  }));
  const tookPart = peers.filter(({ name }) => versions.has(name));
  return {
    peers: tookPart.map(({ name, title, receiptMeans, promisesSame, how, inOtherCheckout }) => {
      const version = versions.get(name)!;
      return {
        name,
        title,
        receiptMeans,
        how,
        version,
        ...(promisesSame && { promisesSame }),
        ...(inOtherCheckout && { earlierOf: inOtherCheckout.name }),
      };
    }),
    rows,
    skipped,
  };
}

/** The most calls in flight that are tried, by what the client speaks. */
export const manyInFlight = { stdio: 64, http: httpClients * callsOfHttpClient } as const;

export async function runCalls(series: readonly CallSeries[], options: RoundsOptions): Promise<CallsReport> {
  const { rounds, seconds, signal, tell } = options;
  const skipped: Skipped[] = [];
  const runs = new Runs<{ inFlight: number; one: CallSeries }, CallMeasurement>();
  for (const one of series) runs.add({ inFlight: 1, one });
  for (const one of series) {
    // A layer's share of the way is read off calls that don't wait for each other.
    if (one.part === 'compared') runs.add({ inFlight: manyInFlight[one.over], one });
  }
  for (let round = 1; round <= rounds; round++) {
    for (const [key, measured] of runs.inOrderOf(round)) {
      const { inFlight, one } = key;
      try {
        const run = await unlessAborted(signal, () => one.run({ lanes: inFlight, seconds }));
        measured.push(run);
        tell(`round ${round} of ${rounds}: calls/${inFlight} ${one.name} ${summary(run)}`);
      } catch (thrown) {
        signal.throwIfAborted();
        runs.all.delete(key);
        skipped.push({ name: `${one.name}, ${inFlight} calls in flight`, reason: messageOf(thrown) });
      }
    }
  }
  const rows = runs.rows(({ inFlight, one: { name, title, over, part, earlierOf } }, measured) => {
    const processorUs = medianCosts(measured.map((run) => run.processorUs));
    return { name, title, over, part, inFlight, processorUs, ...(earlierOf !== undefined && { earlierOf }) };
  });
  return { rows, skipped };
}

function medianCosts(costs: readonly Record<string, number>[]): Record<string, number> {
  const names = Object.keys(costs[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(costs.map((cost) => cost[name]!))]));
}

/** The measurements of each thing that is measured. */
class Runs<Key, Run extends Measurement = Measurement> {
  readonly all = new Map<Key, Run[]>();

  add(key: Key): void {
    this.all.set(key, []);
  }

  /** All keys in their order, reversed in every second round, so that nothing always follows the same neighbour. */
  inOrderOf(round: number): [Key, Run[]][] {
    const order = [...this.all];
    return round % 2 === 0 ? order.reverse() : order;
  }

  /** Rows of everything that was measured at least once. */
  rows<Facts>(
    describe: (key: Key, rounds: readonly Run[]) => Facts,
  ): (Facts & Measurement & { rounds: Measurement[] })[] {
    return [...this.all]
      .filter(([, rounds]) => rounds.length > 0)
      .map(([key, rounds]) => ({
        ...describe(key, rounds),
        ...medianOf(rounds),
        rounds: rounds.map(figuresOf),
      }));
  }
}

function figuresOf({ perSecond, p50Ms, p99Ms }: Measurement): Measurement {
  return { perSecond, p50Ms, p99Ms };
}

function summary({ perSecond, p50Ms }: Measurement): string {
  return `${perSecond.toFixed(0)}/s, p50 ${p50Ms.toFixed(2)} ms`;
}
