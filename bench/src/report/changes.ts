import type { Measurement } from '../measure.ts';
import type { Benchmarks, CallsReport, ChangeRow, MessagesReport, Row } from './benchmarks.ts';
import { table } from './table.ts';

/** Returns the comparison of each workload in a run that had another checkout beside this one. */
export function changeRowsOf({ messages, calls }: Pick<Benchmarks, 'messages' | 'calls'>): ChangeRow[] {
  return [...(messages ? ofMessages(messages) : []), ...(calls ? ofCalls(calls) : [])];
}

/** Returns the same run without the other checkout, which is of no use to a reader who wants to know how fast this one is. */
export function messagesWithoutEarlier<Report extends MessagesReport>(report: Report): Report {
  const earlier = new Set(report.peers.filter(({ earlierOf }) => earlierOf).map(({ name }) => name));
  return {
    ...report,
    peers: report.peers.filter(({ name }) => !earlier.has(name)),
    rows: report.rows.filter(({ peer }) => !earlier.has(peer)),
  };
}

/** Does the same as {@link messagesWithoutEarlier} for calls. */
export function callsWithoutEarlier<Report extends CallsReport>(report: Report): Report {
  return { ...report, rows: report.rows.filter(({ earlierOf }) => !earlierOf) };
}

/** Returns a table of the workloads of one change; ratios come with the extremes of the rounds. */
export function changeTable(rows: readonly ChangeRow[]): string {
  const heads = ['workload', 'before: per s', 'after: per s', 'ratio', 'p50 before', 'p50 after'];
  const lines = rows.map(({ workload, before, after, ratio: { median, least, most } }) => [
    workload,
    before.perSecond.toFixed(0),
    after.perSecond.toFixed(0),
    `**${median.toFixed(2)}×** (${least.toFixed(2)}–${most.toFixed(2)})`,
    before.p50Ms.toFixed(2),
    after.p50Ms.toFixed(2),
  ]);
  return table(heads, lines, 1);
}

function ofMessages({ peers, rows }: MessagesReport): ChangeRow[] {
  return rows.flatMap((row) => {
    const twin = peers.find(({ earlierOf }) => earlierOf === row.peer);
    const before = rows.find(({ workload, peer }) => workload === row.workload && peer === twin?.name);
    return before ? compared(`${row.workload} ${row.peer}`, before, row) : [];
  });
}

function ofCalls({ rows }: CallsReport): ChangeRow[] {
  return rows.flatMap((row) => {
    const before = rows.find((one) => one.earlierOf === row.name && one.inFlight === row.inFlight);
    return before ? compared(`calls/${row.inFlight}`, before, row) : [];
  });
}

/** Compares two checkouts that ran in every round, one right after the other: a disturbance affected both. */
function compared(workload: string, before: Row, after: Row): ChangeRow[] {
  const rounds = Math.min(before.rounds.length, after.rounds.length);
  const ratios = Array.from(
    { length: rounds },
    (_, i) => after.rounds[i]!.perSecond / before.rounds[i]!.perSecond,
  ).sort((a, b) => a - b);
  if (rounds === 0) return [];
  const ratio = { median: ratios[Math.floor(rounds / 2)]!, least: ratios[0]!, most: ratios.at(-1)! };
  return [{ workload, before: figuresOf(before), after: figuresOf(after), ratio }];
}

function figuresOf({ perSecond, p50Ms, p99Ms }: Measurement): Measurement {
  return { perSecond, p50Ms, p99Ms };
}
