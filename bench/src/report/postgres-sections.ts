import type { BrokersReport, Latencies } from '../brokers/brokers-report.ts';
import { median } from '../statistics.ts';
import type { StoresReport } from '../store-rates/stores-report.ts';
import { table } from './table.ts';

export function storesTable({ rows }: StoresReport): string {
  const figures = rows.map((row) => {
    const middle = (pick: (run: StoresReport['rows'][number]['runs'][number]) => number): number =>
      median(row.runs.map(pick));
    return [
      row.workload,
      row.title,
      middle(({ perSecond }) => perSecond).toFixed(0),
      `${row.ratio.toFixed(2)}×`,
      middle(({ p50Ms }) => p50Ms).toFixed(2),
      middle(({ clientMicros }) => clientMicros).toFixed(0),
      middle(({ serverMicros }) => serverMicros).toFixed(0),
    ];
  });
  const heads = ['workload', 'store', 'per s', 'ratio', 'p50 ms', 'process µs', 'PostgreSQL µs'];
  return table(heads, figures, 2);
}

export function brokersTables({ scale, turnover }: BrokersReport): string {
  const parts: string[] = [];
  if (scale) {
    const { wakeUps, kill } = scale;
    const row = (what: string, { p50, p99, longest }: Latencies): string[] => [
      what,
      ...[p50, p99, longest].map((ms) => ms.toFixed(1)),
    ];
    parts.push(
      `${scale.inboxes.toLocaleString('en')} inboxes have a message each. ${scale.agents.toLocaleString('en')} agents subscribed at the two brokers in ${(scale.connectedMs / 1000).toFixed(1)} s, ${kill.moved.toLocaleString('en')} of them at the one that is killed.`,
      table(
        ['milliseconds', 'p50', 'p99', 'longest'],
        [
          row('`deliver` until an agent at the same broker has it', wakeUps.same),
          row('`deliver` until an agent at the other broker has it', wakeUps.across),
          row('kill -9 of a broker until its agents are subscribed at the other one', kill.subscribedMs),
          row('kill -9 until they have a message that was sent after it', kill.servedMs),
        ],
        1,
      ),
    );
  }
  if (turnover) {
    const { tables, autovacuums } = turnover;
    const last = tables.at(-1) ?? [];
    const total = (of: 'liveRows' | 'deadRows' | 'bytes'): number =>
      last.reduce((sum, state) => sum + state[of], 0);
    const [live, dead] = [total('liveRows'), total('deadRows')].map((rows) => rows.toLocaleString('en'));
    parts.push(
      `Requests and replies passed one broker at full rate for ${tables.length} minutes. After ${autovacuums} autovacuums, the tables had ${live} live rows and ${dead} dead ones, in ${(total('bytes') / 2 ** 20).toFixed(1)} MiB with indexes.`,
    );
  }
  return parts.join('\n\n');
}

export function storesSection(report: StoresReport): string {
  return `One process holds the store and the load, without a broker, on ${report.postgres}. Figures are operations a
second. In brackets they are divided by those of our store on PostgreSQL in the same round.

${ratesTable(report)}`;
}

/** Returns the rates of {@link storesTable} with a column for each workload. */
function ratesTable({ rows }: StoresReport): string {
  const [workloads, stores] = [rows.map(({ workload }) => workload), rows.map(({ title }) => title)].map(
    (all) => [...new Set(all)],
  );
  const lines = stores!.map((store) => [
    store,
    ...workloads!.map((workload) => {
      const row = rows.find((one) => one.workload === workload && one.title === store);
      return row ? `${rateOf(row).toLocaleString('en')} (${row.ratio.toFixed(2)}×)` : '';
    }),
  ]);
  return table(['store', ...workloads!], lines, 1);
}

function rateOf({ runs }: StoresReport['rows'][number]): number {
  return Math.round(median(runs.map(({ perSecond }) => perSecond)));
}

export function brokersSection(report: BrokersReport): string {
  return `The brokers use ${report.postgres}. Each has a process of its own, and all agents share another one.

${brokersTables(report)}`;
}
