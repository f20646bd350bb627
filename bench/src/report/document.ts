import type { Benchmarks, Circumstances, Section, Skipped } from './benchmarks.ts';
import { askSection, callSection, messageSection, postgresSection } from './compared-sections.ts';
import { fleetSection } from './fleet-tables.ts';
import { growthSection } from './growth-tables.ts';
import { brokersSection, storesSection } from './postgres-sections.ts';
import { targetsOf, targetTable } from './targets.ts';

/** `docs/benchmarks.md`. `whereWeLose` is written by hand: no program knows why. */
export function asMarkdown(benchmarks: Benchmarks, whereWeLose: string): string {
  const { messages, calls, asks, growth, fleet, postgres, stores, brokers } = benchmarks;
  const parts = [
    introduction,
    targets(benchmarks),
    section('Messages', messages, messageSection),
    section('Proxied calls', calls, callSection),
    section('Asks over A2A', asks, askSection),
    section('Growth', growth, growthSection),
    section('A fleet of workers', fleet, fleetSection),
    section('Messages in PostgreSQL', postgres, (report) => postgresSection(report, messages?.peers ?? [])),
    section('The stores alone', stores, storesSection),
    section('Two brokers on one PostgreSQL', brokers, brokersSection),
    whereWeLose,
    notMeasured([...(messages?.skipped ?? []), ...(calls?.skipped ?? [])]),
    next,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const introduction = `# Benchmarks

This page shows how fast Signalbox is beside other brokers and proxies, how its costs grow, and which targets it meets.
The figures are medians of rounds, and each round measures all rows of a table in turn. Each section was measured in a
run of its own, so compare only rows of one table. \`npm run bench\` writes the page from
[benchmarks.json](benchmarks.json), which holds each round and further sizes and percentiles. This measures all of it
again, except for *The stores alone* (\`npm run bench:stores\`) and *Two brokers on one PostgreSQL*
(\`npm run bench:brokers\`):

\`\`\`sh
npm run bench -- --peers all --workloads all --rounds 5 --seconds 2 --full --write
\`\`\`

![Bars of the main rows](benchmarks.svg)`;

const next = `Next: [how Signalbox compares](comparison.md) in what it does, and [what it promises](reference/reliability.md).`;

function targets(benchmarks: Benchmarks): string {
  const rows = targetsOf(benchmarks);
  if (rows.length === 0) return '';
  const met = rows.filter(({ isMet }) => isMet).length;
  return `## Targets

${met} of ${rows.length} targets are met. *Against* divides our figure by the other one; *1* and *64* are in flight.
Of targets of one kind the table shows the missed ones, or else the one that was met most narrowly.

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
  const loads = `load ${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after`;
  const runs = rounds === 1 ? 'one round' : `${rounds} rounds`;
  return `${date}: ${machine}, Node ${node.slice(1)}, ${loads}, ${runs} of ${secondsPerRun} s.${more}`;
}

function notMeasured(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return '';
  return `## Not measured\n\n${skipped.map(({ name, reason }) => `- ${name}: ${reason}`).join('\n')}`;
}
