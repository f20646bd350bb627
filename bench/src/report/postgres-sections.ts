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
      `There are ${scale.inboxes.toLocaleString('en')} inboxes with a message each. ${scale.agents.toLocaleString('en')} agents subscribed at the two brokers in ${(scale.connectedMs / 1000).toFixed(1)} s. ${kill.moved.toLocaleString('en')} of them were at the broker that is killed.`,
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
    const { perSecond, tables, autovacuums } = turnover;
    const last = tables.at(-1) ?? [];
    parts.push(
      `Requests and replies passed one broker at full rate for ${perSecond.length} minutes: ${perSecond[0]!.toFixed(0)} a second in the first minute, and ${perSecond.at(-1)!.toFixed(0)} in the last one. There were ${autovacuums} autovacuums. The tables afterwards:`,
      table(
        ['table', 'live rows', 'dead rows', 'MiB with indexes'],
        last.map(({ table: name, liveRows, deadRows, bytes }) => [
          `\`${name}\``,
          liveRows.toLocaleString('en'),
          deadRows.toLocaleString('en'),
          (bytes / 2 ** 20).toFixed(1),
        ]),
        1,
      ),
    );
  }
  return parts.join('\n\n');
}

export function storesSection(report: StoresReport): string {
  return `One process holds the store and the load, without a broker, on ${report.postgres}. A *request* is stored. Its reply is
stored, which settles it. Then the reply is settled. All operations that come while a commit runs share the next commit.
*Ratio*: operations a second, divided by those of our store on PostgreSQL in the same round; the median of the rounds.
*Process µs* and *PostgreSQL µs*: processor time of one operation in the process and in PostgreSQL.

${storesTable(report)}`;
}

export function brokersSection(report: BrokersReport): string {
  return `The brokers use ${report.postgres}. Each has a process of its own, and all agents share another one.

${brokersTables(report)}`;
}
