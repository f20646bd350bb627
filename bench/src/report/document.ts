import type { Benchmarks, Circumstances, Section, Skipped } from './benchmarks.ts';
import { changeTable } from './changes.ts';
import { callSection, messageSection, postgresSection } from './compared-sections.ts';
import { fleetTables } from './fleet-tables.ts';
import { growthTables } from './growth-tables.ts';
import { brokersSection, storesSection } from './postgres-sections.ts';
import { targetsOf, targetTable } from './targets.ts';

/** `docs/benchmarks.md`. `whereWeLose` is written by hand: no program knows why. */
export function asMarkdown(benchmarks: Benchmarks, whereWeLose: string): string {
  const { messages, calls, growth, fleet, postgres, stores, brokers, changes = [] } = benchmarks;
  const parts = [
    introduction,
    targets(benchmarks),
    section('Messages', messages, messageSection),
    section('Proxied calls', calls, callSection),
    section('Growth', growth, growthTables),
    section('A fleet of workers', fleet, fleetTables),
    section('Messages in PostgreSQL', postgres, postgresSection),
    section('The stores alone', stores, storesSection),
    section('Two brokers on one PostgreSQL', brokers, brokersSection),
    whatMadeItFaster(changes),
    whereWeLose,
    notMeasured([...(messages?.skipped ?? []), ...(calls?.skipped ?? [])]),
    next,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const introduction = `# Benchmarks

This page shows how fast Signalbox is beside other brokers and proxies, how its costs grow, and which targets it meets.
\`npm run bench\` writes it from [benchmarks.json](benchmarks.json). Each section was measured in a run of its own, so
compare only rows of one table. This command measures everything again, except for *The stores alone*
(\`npm run bench:stores\`) and *Two brokers on one PostgreSQL* (\`npm run bench:brokers\`):

\`\`\`sh
npm run bench -- --peers all --workloads all --rounds 5 --seconds 2 --full --write
\`\`\`

![Bars of the main rows](benchmarks.svg)`;

const next = `Next: [how Signalbox compares](comparison.md) in what it does, and [what it promises](guide/reliability.md).`;

function targets(benchmarks: Benchmarks): string {
  const rows = targetsOf(benchmarks);
  if (rows.length === 0) return '';
  const met = rows.filter(({ isMet }) => isMet).length;
  return `## Targets

${met} of ${rows.length} targets are met. If several sizes were measured, the row shows the worst of them.

${targetTable(rows)}`;
}

function section<Report>(
  title: string,
  measured: Section<Report> | undefined,
  textOf: (report: Report) => string,
): string {
  return measured ? `## ${title}\n\n${circumstances(measured)}\n\n${textOf(measured)}` : '';
}

function circumstances({ date, machine, node, load, rounds, secondsPerRun, remark }: Circumstances): string {
  const more = remark === undefined ? '' : ` ${remark}`;
  const loads = `load average ${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after`;
  const runs =
    rounds === 1
      ? `There was one round, with runs of ${secondsPerRun} s.`
      : `There were ${rounds} rounds. Each round measured all rows in turn, each for ${secondsPerRun} s. Figures are medians of the rounds.`;
  return `Measured on ${date}: ${machine}, Node ${node.slice(1)}, ${loads}. ${runs}${more}`;
}

function whatMadeItFaster(changes: readonly NonNullable<Benchmarks['changes']>[number][]): string {
  if (changes.length === 0) return '';
  return `## What made it faster

Each change was measured in one run with the commit before it, the two in turn. *Ratio* divides the operations a second
after the change by those before it, in the same round. It shows the median of the rounds, with the least and the most
in brackets. A workload is written as operation/in flight/size, with the durability. \`calls\` are proxied calls.

${changeTable(changes)}

${changes.map(({ change, before, date, rounds, secondsPerRun }) => `- ${change}: ${date}, against ${before}, ${rounds} rounds, runs of ${secondsPerRun} s.`).join('\n')}`;
}

function notMeasured(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return '';
  return `## Not measured\n\n${skipped.map(({ name, reason }) => `- ${name}: ${reason}`).join('\n')}`;
}
