import { operations, shapes, sizes } from '../workloads.ts';
import type { CallRow, CallsReport, MessageRow, MessagesReport, PeerFacts } from './benchmarks.ts';
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

/** Returns a table of our rate with fsync as a multiple of each peer's, and of our latency relative to its latency. */
export function ratioTable(report: MessagesReport): string {
  const ours = report.peers.find(({ name }) => name === 'full');
  const compared = ['enqueue', 'consume', 'request'].flatMap((operation) => [
    { workload: `${operation}/64/300B`, head: `${operation}, 64: per s`, of: 'perSecond' as const },
    { workload: `${operation}/1/300B`, head: `${operation}, 1: p50`, of: 'p50Ms' as const },
  ]);
  const columns = compared.filter(({ workload }) => ours && find(report, ours, workload));
  const peers = report.peers.filter((peer) => peer !== ours);
  if (!ours || columns.length === 0 || peers.length === 0) return '';
  const rows = peers.map((peer) => [
    peer.title,
    peer.receiptMeans,
    ...columns.map(({ workload, of }) => {
      const [mine, its] = [find(report, ours, workload), find(report, peer, workload)];
      return mine && its ? `${(mine[of] / its[of]).toFixed(2)}×` : '';
    }),
  ]);
  return table(['peer', 'ack means', ...columns.map(({ head }) => head)], rows, 2);
}

/** Returns a table of proxied calls for each thing that a client may speak, each way compared with the naive proxy. */
export function callTables(report: CallsReport): string {
  const over = { stdio: 'naive', http: 'naive-http' } as const;
  return Object.entries(over)
    .map(([speaks, naive]) => callTable(report, speaks as keyof typeof over, naive))
    .filter((text) => text !== '')
    .join('\n\n');
}

const spoken = { stdio: 'Over stdio', http: 'Over HTTP' } as const;

function callTable(report: CallsReport, over: CallRow['over'], naive: string): string {
  const rows = report.rows.filter((row) => row.part === 'compared' && row.over === over);
  const many = rows.find(({ inFlight }) => inFlight > 1)?.inFlight;
  if (many === undefined) return '';
  const of = (name: string, inFlight: number): CallRow | undefined =>
    rows.find((row) => row.name === name && row.inFlight === inFlight);
  const lines = [...new Set(rows.map(({ name }) => name))].map((name) => {
    const [one, all] = [of(name, 1), of(name, many)];
    const times = one && of(naive, 1) ? `${(one.p50Ms / of(naive, 1)!.p50Ms).toFixed(1)}×` : '';
    const share = all && of(naive, many) ? `${(all.perSecond / of(naive, many)!.perSecond).toFixed(2)}×` : '';
    return [(one ?? all)!.title, ...figures(one), times, ...figures(all), share];
  });
  const heads = ['1 in flight: per s', 'p50 ms', 'p99 ms', 'naive p50', `${many} in flight: per s`];
  return `### ${spoken[over]}\n\n${table(['way', ...heads, 'p50 ms', 'p99 ms', 'naive per s'], lines, 1)}`;
}

/** Returns a table of the processor time that a call costs each process when many are in flight; empty if none was measured. */
export function processorTable(report: CallsReport): string {
  const rows = report.rows.filter(
    ({ part, inFlight, processorUs }) => part === 'compared' && inFlight > 1 && 'server' in processorUs,
  );
  const order = ['client', 'shim', 'proxy', 'face', 'broker', 'orchestrator', 'server'];
  const names = order.filter((name) => rows.some(({ processorUs }) => name in processorUs));
  const lines = rows.map(({ title, over, processorUs }) => {
    const costs = names.map((name) => processorUs[name]);
    const sum = costs.reduce<number>((all, cost) => all + (cost ?? 0), 0);
    const way = over === 'http' && !title.includes('HTTP') ? `${title}, HTTP` : title;
    return [way, ...costs.map((cost) => cost?.toFixed(0) ?? ''), sum.toFixed(0)];
  });
  return rows.length === 0 ? '' : table(['way', ...names, 'in all'], lines, 1);
}

export function hopTable(report: CallsReport): string {
  const rows = hopsOf(report).map(({ hop, addsMs, measuredAs }) => [hop, addsMs.toFixed(2), measuredAs]);
  return rows.length === 0 ? '' : table(['hop', 'adds ms (p50)', 'measured as'], rows, 1, ['measured as']);
}

function find(report: MessagesReport, peer: PeerFacts, workload: string): MessageRow | undefined {
  return report.rows.find((row) => row.peer === peer.name && row.workload === workload);
}

function figures(row: { perSecond: number; p50Ms: number; p99Ms: number } | undefined): string[] {
  return row ? [row.perSecond.toFixed(0), row.p50Ms.toFixed(2), row.p99Ms.toFixed(2)] : ['', '', ''];
}
