import { runAsks } from './asks/run-asks.ts';
import { prepareBefore } from './before.ts';
import { openCallSeries } from './calls/call-series.ts';
import { runFleet } from './fleet/run-fleet.ts';
import { runGrowth } from './growth/run-growth.ts';
import type { Options } from './options.ts';
import { peersOnPostgres } from './peers/all-peers.ts';
import { type Benchmarks, type CallsReport, type Skipped, underCircumstances } from './report/benchmarks.ts';
import { type RoundsOptions, runCalls, runMessages } from './rounds.ts';
import { workloads as allWorkloads } from './workloads.ts';

const postgresWorkloads = allWorkloads.filter(({ name }) =>
  ['enqueue/64/300B', 'consume/8x8/300B', 'request/1/300B', 'request/64/300B'].includes(name),
);

/** Measures what was asked for, and yields each section as soon as it is there: the last ones may take long. */
export async function* measureSections(
  options: Options,
  ports: Pick<RoundsOptions, 'signal' | 'tell'>,
): AsyncGenerator<Omit<Benchmarks, 'changes'>> {
  const { peers, workloads, others, before, rounds, seconds, full } = options;
  const running = { rounds, seconds, ...ports };
  const measured = <Report extends object>(measure: () => Promise<Report>) =>
    underCircumstances(running, measure);
  if (before) await prepareBefore(before);
  if (workloads.length > 0) {
    yield { messages: await measured(() => runMessages(peers, workloads, running)) };
  }
  if (others.includes('calls')) yield { calls: await measured(() => callsOf(running, before)) };
  if (others.includes('asks')) yield { asks: await measured(() => runAsks(running)) };
  if (others.includes('growth')) yield { growth: await measured(() => runGrowth({ ...running, full })) };
  if (others.includes('postgres')) {
    yield { postgres: await measured(() => runMessages(peersOnPostgres(), postgresWorkloads, running)) };
  }
  if (others.includes('fleet')) yield { fleet: await measured(() => runFleet(running)) };
}

async function callsOf(running: RoundsOptions, before: URL | undefined): Promise<CallsReport> {
  running.tell('starting the ways of proxied calls');
  const skipped: Skipped[] = [];
  await using ways = await openCallSeries({
    before,
    onSkipped: (name, reason) => skipped.push({ name, reason }),
  });
  const { rows, skipped: failed } = await runCalls(ways.series, running);
  return { rows, skipped: [...skipped, ...failed] };
}
