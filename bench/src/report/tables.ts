import { operations, shapes, sizes } from '../workloads.ts';
import type {
  AsksReport,
  CallRow,
  CallsReport,
  MessageRow,
  MessagesReport,
  PeerFacts,
} from './benchmarks.ts';
import { hopsOf } from './hops.ts';
import { table } from './table.ts';

const titles = {
  enqueue: 'Enqueue with receipt',
  consume: 'Enqueue → consume → ack',
  request: 'Durable request/reply',
} as const;

/** Returns one table for each operation and size that was measured: a row for each peer, three columns for each shape. */
export function messageTables(report: MessagesReport): string {
  const tables = operations.flatMap((operation) =>
    sizes.map(({ size, title }) => {
      const measured = shapes.filter(({ shape }) =>
        report.rows.some(({ workload }) => workload === `${operation}/${shape}/${size}`),
      );
      if (measured.length === 0) return undefined;
      const rows = report.peers.map((peer) => [
        peer.title,
        peer.receiptMeans,
        ...measured.flatMap(({ shape }) => figures(find(report, peer, `${operation}/${shape}/${size}`))),
      ]);
      const heads = measured.flatMap(({ title: shape }) => [`${shape}: per s`, 'p50 ms', 'p99 ms']);
      return `### ${titles[operation]}, ${title}\n\n${table(['peer', 'ack means', ...heads], rows, 2)}`;
    }),
  );
  return tables.filter((one) => one !== undefined).join('\n\n');
}

/** The columns of {@link comparisonTable}, in the order of the page. */
const compared = [
  { workload: 'enqueue/64/300B', of: 'perSecond', head: 'enqueue, 64: per s' },
  { workload: 'consume/64/300B', of: 'perSecond', head: 'consume, 64: per s' },
  { workload: 'consume/8x8/300B', of: 'perSecond', head: 'consume, 8×8: per s' },
  { workload: 'request/64/300B', of: 'perSecond', head: 'request, 64: per s' },
  { workload: 'request/64/300B', of: 'p99Ms', head: 'p99 ms' },
  { workload: 'request/50x8/300B', of: 'perSecond', head: 'request, 50×8: per s' },
  { workload: 'request/64/8KB', of: 'perSecond', head: 'request, 64, 8 KB: per s' },
  { workload: 'request/1/300B', of: 'p50Ms', head: 'request, 1: p50 ms' },
] as const;

/**
 * Returns one table of the main figures of all peers. Rates and medians come with the figure of the peer named `measure`,
 * divided by that of the row.
 */
export function comparisonTable(report: MessagesReport, measure: string): string {
  const reference = report.peers.find(({ name }) => name === measure);
  const columns = compared.filter(({ workload }) => report.rows.some((row) => row.workload === workload));
  const rows = report.peers.map((peer) => [
    peer.title,
    peer.receiptMeans,
    ...columns.map(({ workload, of }) => {
      const its = find(report, peer, workload)?.[of];
      if (its === undefined) return '';
      const told = of === 'perSecond' ? rate(its) : its.toFixed(2);
      const other = reference && peer !== reference ? find(report, reference, workload)?.[of] : undefined;
      return other === undefined || of === 'p99Ms' ? told : `${told} (${(other / its).toFixed(2)}×)`;
    }),
  ]);
  return table(['peer', 'ack means', ...columns.map(({ head }) => head)], rows, 2);
}

const naive = { stdio: 'naive', http: 'naive-http' } as const;

/** Returns a table of proxied calls, each way compared with the naive proxy that speaks the same; empty if none was measured. */
export function callTable({ rows }: CallsReport): string {
  const ways = rows.filter(({ part }) => part === 'compared');
  const of = (name: string, isMany: boolean): CallRow | undefined =>
    ways.find((row) => row.name === name && row.inFlight > 1 === isMany);
  const quotient = (ours: number | undefined, its: number | undefined): string =>
    ours === undefined || its === undefined ? '' : ` (${(ours / its).toFixed(2)}×)`;
  const lines = [...new Map(ways.map((row) => [row.name, row])).values()].map((way) => {
    const [one, many] = [of(way.name, false), of(way.name, true)];
    const [naiveOne, naiveMany] = [of(naive[way.over], false), of(naive[way.over], true)];
    return [
      wayOf(way),
      one ? `${one.p50Ms.toFixed(2)}${quotient(one.p50Ms, naiveOne?.p50Ms)}` : '',
      one?.p99Ms.toFixed(2) ?? '',
      many ? `${rate(many.perSecond)}${quotient(many.perSecond, naiveMany?.perSecond)}` : '',
      many?.p99Ms.toFixed(2) ?? '',
      many && 'server' in many.processorUs ? processorSum(many).toFixed(0) : '',
    ];
  });
  if (lines.length === 0) return '';
  const heads = ['way', '1 in flight: p50 ms', 'p99 ms', 'many in flight: per s', 'p99 ms', 'processor µs'];
  return table(heads, lines, 1);
}

/** Returns a table of asks, each way compared with the library. */
export function askTable({ rows }: AsksReport): string {
  const lines = rows.map((row) => {
    const library = rows.find(({ name, inFlight }) => name === 'library' && inFlight === row.inFlight);
    const times = library && library !== row ? ` (${(row.p50Ms / library.p50Ms).toFixed(2)}×)` : '';
    const { title, inFlight, p50Ms, p99Ms, perSecond } = row;
    return [title, `${inFlight}`, `${p50Ms.toFixed(2)}${times}`, p99Ms.toFixed(2), rate(perSecond)];
  });
  return table(['way', 'in flight', 'p50 ms', 'p99 ms', 'per s'], lines, 1);
}

/** Returns a table of the processor time that a call costs each process when many are in flight; empty if none was measured. */
export function processorTable(report: CallsReport): string {
  const rows = report.rows.filter(
    ({ part, inFlight, processorUs }) => part === 'compared' && inFlight > 1 && 'server' in processorUs,
  );
  const order = ['client', 'shim', 'proxy', 'face', 'broker', 'orchestrator', 'server'];
  const names = order.filter((name) => rows.some(({ processorUs }) => name in processorUs));
  const lines = rows.map((row) => {
    const costs = names.map((name) => row.processorUs[name]?.toFixed(0) ?? '');
    return [wayOf(row), ...costs, processorSum(row).toFixed(0)];
  });
  return rows.length === 0 ? '' : table(['way', ...names, 'in all'], lines, 1);
}

/** Says what each hop adds to the median of one call; empty unless all were measured. */
export function hopSentence(report: CallsReport): string {
  const parts = hopsOf(report).map(({ hop, addsMs }) => `the ${hop} ${addsMs.toFixed(2)} ms`);
  if (parts.length === 0) return '';
  return `Of the p50 of a call over stdio, ${parts.slice(0, -1).join(', ')}, and ${parts.at(-1)}.`;
}

function wayOf({ title, over }: CallRow): string {
  return over === 'http' && !title.includes('HTTP') ? `${title}, HTTP` : title;
}

function processorSum({ processorUs }: CallRow): number {
  return Object.values(processorUs).reduce((sum, cost) => sum + cost, 0);
}

function rate(perSecond: number): string {
  return Math.round(perSecond).toLocaleString('en');
}

function find(report: MessagesReport, peer: PeerFacts, workload: string): MessageRow | undefined {
  return report.rows.find((row) => row.peer === peer.name && row.workload === workload);
}

function figures(row: { perSecond: number; p50Ms: number; p99Ms: number } | undefined): string[] {
  return row ? [row.perSecond.toFixed(0), row.p50Ms.toFixed(2), row.p99Ms.toFixed(2)] : ['', '', ''];
}
