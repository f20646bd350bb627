import type { Cost, GrowthReport, Ladder, Target } from '../growth/growth-report.ts';

const texts: Record<Ladder['name'], { title: string; sizeOf: string; text: string }> = {
  pending: {
    title: 'Messages that wait in one inbox',
    sizeOf: 'waiting',
    text: `The inbox is filled before the broker starts. Then, again and again, 1,024 messages of 300 B come (64 in flight, fsynced) and as many are taken from
its head (window 64), so that it swings by that many. The broker starts anew in each round, warms up on another inbox, and only then meets this one.`,
  },
  inboxes: {
    title: 'Inboxes',
    sizeOf: 'inboxes',
    text: `Two messages of 300 B in each. The broker starts anew in each round, on the same files. A head fetch is the first touch of its inbox by a consumer.`,
  },
  connections: {
    title: 'Connected workers',
    sizeOf: 'workers',
    text: `Workers that do nothing, as the client library makes them: hello, a subscription, heartbeats; each has its own token, and all share one process. A new
broker for each number. Memory is taken after a garbage collection; what a connection adds is the difference to the broker before. *Requests* are durable request/reply between
two further clients. *Takeover*: a second connection of an agent subscribes while the first one holds a message, until it has that message.`,
  },
  history: {
    title: 'Settled messages that are remembered',
    sizeOf: 'settled',
    text: `Half requests, half replies, all settled within the nine minutes before the measurement, so that none may be forgotten yet. Costs of \`deliver\` and \`ack\` as
above, in an inbox that is otherwise empty. The store alone was measured without a broker, on the same files.`,
  },
  start: {
    title: 'Start',
    sizeOf: 'database',
    text: `The built command, from its spawn to the line that says the broker is ready (\`signalbox broker --json\`), and to its end (\`signalbox --help\`). Files are in the page
cache, and so is Node's compile cache.`,
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
