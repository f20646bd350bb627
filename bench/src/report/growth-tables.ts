import type { Cost, GrowthReport, Ladder, Target } from '../growth/growth-report.ts';

const texts: Record<Ladder['name'], { title: string; sizeOf: string; text: string }> = {
  pending: {
    title: 'Messages that wait in one inbox',
    sizeOf: 'waiting',
    text: `The inbox is filled before the broker starts. The broker warms up on another inbox. Then 1,024 messages of 300 B are
delivered (64 in flight, fsynced) and 1,024 are taken from the head (window 64), again and again. Each round begins with
a new broker.`,
  },
  inboxes: {
    title: 'Inboxes',
    sizeOf: 'inboxes',
    text: `Each inbox holds two messages of 300 B. Each round begins with a new broker on the same files. *Head fetch*: the first
consumer subscribes to an inbox that this broker has not read yet.`,
  },
  connections: {
    title: 'Connected workers',
    sizeOf: 'workers',
    text: `The workers are connected and subscribed by the client library, answer heartbeats, and do nothing else. Each has its
own token; all are in one process. Each number of workers has a new broker. Memory is measured after the
collection that a process at rest makes. *Added per idle worker* is the difference to the broker without these workers, divided by their number.
*Request/reply* is durable, between two further clients. *Takeover* is the time in which a second connection of an agent
subscribes and gets the message that the first connection holds.`,
  },
  history: {
    title: 'Settled messages that are remembered',
    sizeOf: 'settled',
    text: `Half of the messages are requests, half are replies. All were settled in the nine minutes before the measurement, so
that the broker must still remember them. \`deliver\` and \`ack\` are measured as above, in an empty inbox. The rows from
*the store alone* on were measured without a broker, on the same files.`,
  },
  start: {
    title: 'Start',
    sizeOf: 'database',
    text: `The time from the start of the built command until \`signalbox broker --json\` says that it is ready, and until
\`signalbox --help\` has ended. The files and Node's compile cache are in the page cache.`,
  },
};

/** A section for each thing that grows: what was measured, and a table of the costs at each size. */
export function growthTables({ ladders, skipped }: GrowthReport): string {
  return [
    ...ladders.map(section),
    ...skipped.map(({ name, reason }) => `Not measured: ${name}: ${reason}`),
  ].join('\n\n');
}

function section(ladder: Ladder): string {
  const { title, text, sizeOf } = texts[ladder.name];
  const heads = [sizeOf, ...ladder.sizes.map(({ label }) => label), 'target', 'met'];
  const rule = heads.map((_, i) => (i === 0 || i > ladder.sizes.length ? '---' : '---:'));
  const rows = ladder.costs.map((cost) => [
    cost.name,
    ...cost.values.map((value, i) => figure(cost, value, i)),
    cost.target ? targetText(cost.target, cost.unit) : '',
    cost.target ? verdict(cost, cost.target) : '',
  ]);
  const table = [heads, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return [`### ${title}`, text, table, ...ladder.notes].join('\n\n');
}

/** The figure, and how many times that of the smallest size it is. */
function figure({ values, unit }: Cost, value: number | null, at: number): string {
  if (value === null) return '';
  const [first] = values;
  const told = `${rounded(value)} ${unit}`;
  return at === 0 || first == null || first === 0 ? told : `${told} (${(value / first).toFixed(2)}×)`;
}

function rounded(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function targetText(target: Target, unit: string): string {
  if ('timesSmallest' in target) return `≤ ${target.timesSmallest}×`;
  const bounds = new Set(target.atMost.filter((bound) => bound !== null));
  return [...bounds].map((bound) => `≤ ${bound.toLocaleString('en')} ${unit}`).join(', ');
}

function verdict({ values }: Cost, target: Target): string {
  const isMet = values.every((value, i) => {
    if (value === null) return true;
    if ('timesSmallest' in target) return value <= target.timesSmallest * (values[0] ?? Number.NaN);
    const bound = target.atMost[i] ?? null;
    return bound === null || value <= bound;
  });
  return isMet ? 'yes' : '**no**';
}
