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
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const introduction = `# Benchmarks

Written by \`npm run bench\` from [benchmarks.json](benchmarks.json). Each section says when and where it was measured. Compare rows of one table with
each other, not with another section's or another machine's. Everything again:
\`npm run bench -- --peers all --workloads all --rounds 5 --seconds 2 --full --write\`.

![Bars of the main rows](benchmarks.svg)`;

function targets(benchmarks: Benchmarks): string {
  const rows = targetsOf(benchmarks);
  if (rows.length === 0) return '';
  const met = rows.filter(({ isMet }) => isMet).length;
  return `## Targets

${met} of ${rows.length} are met. Where several sizes were measured, the figure is that of the worst.

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
  return `Measured on ${date}: ${machine}, Node ${node.slice(1)}; load average ${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after; ${rounds} rounds, runs of ${secondsPerRun} s, everything in turn; medians of the rounds.${more}`;
}

function whatMadeItFaster(changes: readonly NonNullable<Benchmarks['changes']>[number][]): string {
  if (changes.length === 0) return '';
  return `## What made it faster

Each change was measured in one run beside the commit before it, in turn. *Ratio*: operations a second, after by before, of the same round; the median of the
rounds, and the least and the most. Workloads are operation/in flight/size and durability; \`calls\` are proxied calls.

${changeTable(changes)}

${changes.map(({ change, before, date, rounds, secondsPerRun }) => `- ${change}: ${date}, against ${before}, ${rounds} rounds, runs of ${secondsPerRun} s.`).join('\n')}`;
}

function notMeasured(skipped: readonly Skipped[]): string {
  if (skipped.length === 0) return '';
  return `## Not measured\n\n${skipped.map(({ name, reason }) => `- ${name}: ${reason}`).join('\n')}`;
}
