import type { Cost, GrowthReport, Ladder } from '../growth/growth-report.ts';
import { table } from './table.ts';

/** `asked`: the costs on the page. */
const texts: Record<Ladder['name'], { sizeOf: string; text?: string; asked: readonly string[] }> = {
  pending: {
    sizeOf: 'messages that wait in one inbox',
    asked: [
      '`deliver` with receipt, 64 in flight, per message',
      'receive and `ack`, 64 at a time, per message',
      'head fetch: `subscribe` to the first message',
    ],
  },
  inboxes: {
    sizeOf: 'inboxes',
    asked: [
      '`deliver` with receipt, 64 in flight, each to a random inbox, per message',
      '`ack` of one message, 1 in flight',
    ],
  },
  connections: {
    sizeOf: 'connected workers',
    text: `*Connected workers* answer heartbeats, and do nothing else. Memory is measured after the collection that a process at
rest makes. *Takeover*: a second connection of an agent subscribes, and gets the message that the first one holds.`,
    asked: [
      'memory of the broker (RSS)',
      'memory added per idle worker (RSS)',
      'request/reply meanwhile, 1 in flight, p50',
      'takeover, median',
    ],
  },
  history: {
    sizeOf: 'settled messages',
    text: '*Settled messages* were settled in the last nine minutes, so that the broker must still remember them.',
    asked: [
      '`deliver` with receipt, 64 in flight, per message',
      'receive and `ack`, 64 at a time, per message',
      'the first page of the whole `history`',
    ],
  },
  start: {
    sizeOf: 'size of the database',
    text: '*Start* lasts until the built command is ready or has ended, with warm file caches.',
    asked: ['`signalbox broker`: ready', '`signalbox --help`'],
  },
};

/** Returns a table for each thing that grows, with every cost at every size. */
export function growthTables({ ladders, skipped }: GrowthReport): string {
  const tables = ladders.map(({ name, sizes, costs, notes }) => {
    const heads = [texts[name].sizeOf, ...sizes.map(({ label }) => label)];
    const rows = costs.map((cost) => [
      cost.name,
      ...cost.values.map((value, i) => {
        const times = i === 0 ? '' : ratio(cost, value);
        return times === '' ? figure(cost, value) : `${figure(cost, value)} (${times})`;
      }),
    ]);
    return [table(heads, rows, 1), ...notes].join('\n\n');
  });
  return [...tables, ...notMeasured(skipped)].join('\n\n');
}

/** Returns one table of the costs that people ask about, at the smallest size and at the largest, and what was measured. */
export function growthSection({ ladders, skipped }: GrowthReport): string {
  const words = ladders.flatMap(({ name }) => texts[name].text ?? []);
  const rows = ladders.flatMap(({ name, sizes, costs }) => {
    const { sizeOf, asked } = texts[name];
    const shown = costs.filter((cost) => asked.includes(cost.name));
    const sized = `${sizeOf}: ${sizes[0]?.label} → ${sizes.at(-1)?.label}`;
    return shown.map((cost, i) => {
      const last = cost.values.at(-1) ?? null;
      return [
        i === 0 ? sized : '',
        cost.name,
        figure(cost, cost.values[0] ?? null),
        figure(cost, last),
        ratio(cost, last),
      ];
    });
  });
  return [
    ['Each size has a broker of its own, whose files are filled before it starts.', ...words].join('\n'),
    table(['what grows', 'cost', 'at first', 'at last', 'ratio'], rows, 2),
    ...ladders.flatMap(({ notes }) => notes),
    ...notMeasured(skipped),
  ].join('\n\n');
}

function figure({ unit }: Cost, value: number | null): string {
  return value === null ? '' : `${rounded(value)} ${unit}`;
}

/** Says how many times the cost of the smallest size this one is. */
function ratio({ values: [first] }: Cost, value: number | null): string {
  return value === null || !first ? '' : `${(value / first).toFixed(2)}×`;
}

function rounded(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function notMeasured(skipped: GrowthReport['skipped']): string[] {
  return skipped.map(({ name, reason }) => `Not measured: ${name}: ${reason}`);
}
