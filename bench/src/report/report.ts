import { cpus, totalmem } from 'node:os';
import type { Measurement } from './measure.ts';

/** The medians of one series, and each round behind them. */
export interface Row extends Measurement {
  name: string;
  rounds: Measurement[];
}

export interface Report {
  date: string;
  machine: string;
  node: string;
  rounds: number;
  secondsPerRun: number;
  rows: Row[];
}

export function describeMachine(): string {
  const [first] = cpus();
  return `${cpus().length} cores (${first?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, shared`;
}

/** The report as a table for people. */
export function asMarkdown(report: Report): string {
  const rows = report.rows.map(
    ({ name, perSecond, p50Ms, p99Ms }) =>
      `| ${name} | ${perSecond.toFixed(0)} | ${p50Ms.toFixed(2)} | ${p99Ms.toFixed(2)} |`,
  );
  return [
    `| series | per second | p50 ms | p99 ms |`,
    '|---|---:|---:|---:|',
    ...rows,
    '',
    ...ratios(report),
  ].join('\n');
}

function ratios(report: Report): string[] {
  const of = (name: string): Row | undefined => report.rows.find((row) => row.name === name);
  const lines: string[] = [];
  for (const inFlight of [1, 64]) {
    const ours = of(`tools/call, Signalbox, ${inFlight} in flight`);
    const naive = of(`tools/call, naive SDK proxy, ${inFlight} in flight`);
    const direct = of(`tools/call, direct SDK client, ${inFlight} in flight`);
    if (!ours || !naive || !direct) continue;
    lines.push(
      `- \`tools/call\` at ${inFlight} in flight: p50 ${(ours.p50Ms / naive.p50Ms).toFixed(1)}× the naive proxy's and ${(ours.p50Ms / direct.p50Ms).toFixed(1)}× the direct client's; throughput ${(ours.perSecond / naive.perSecond).toFixed(2)}× the naive proxy's.`,
    );
  }
  return lines;
}
