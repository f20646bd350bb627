import type {
  CallTally,
  FairnessRow,
  FleetReport,
  KillRound,
  RecoveryRow,
  Victim,
} from '../fleet/fleet-report.ts';
import { quantileOf } from '../statistics.ts';
import { table } from './table.ts';

/** Fairness and recovery as Markdown: what was measured, and a table of each. */
export function fleetSection(report: FleetReport): string {
  const { workers, tool, calm } = report;
  return `### One greedy worker among ${workers.fair}

*Calls*: ${workers.fair - 1} modest workers keep 1 or 2 calls in flight, the greedy one 300, of a tool that takes ${tool.ms} ms and runs ${tool.atOnce}
times at once. *Messages*: ${workers.fair - 1} pairs of agents have a stored request each; the greedy agent keeps 900 messages in flight,
which its rate limit of 2,000 a second bounds. *Waits as told*: it repeats what was refused when the refusal says.
*Insists*: it repeats at once. *Share*: the rate of a modest worker, divided by its equal part of the rate of all, which
is at most its rate without the greedy one.

${fairnessTable(report)}

### Coming back after kill -9

${workers.recovering} workers call a tool that takes 20 ms and is not safe to repeat. A killed process is started again at once.
A worker is back when it has the result of a call that it began after the kill. All times are those of the worst round. Without a kill, a
call takes ${calm.p50Ms.toFixed(0)} ms (p50) and ${calm.p99Ms.toFixed(0)} ms (p99). *Lost*: a call without an end, or with a result although it never ran. *Doubled*:
it ran twice. *Denied falsely*: it ran, but the error said that it had not.

${recoveryTable(report)}`;
}

export function fairnessTable({ calls, messages }: FleetReport): string {
  const heads = [
    'condition',
    'modest: per s',
    'p99 ms',
    'greedy: per s',
    'share: least',
    'median',
    'least of any round',
  ];
  const line = (what: string, row: FairnessRow): string[] => [
    `${what}: ${row.condition}`,
    row.perSecond.toFixed(0),
    row.p99Ms.toFixed(1),
    row.greedy?.perSecond.toFixed(0) ?? '',
    ...(row.shares ? [row.shares.min, row.shares.median, row.worstRound!].map(percent) : ['', '', '']),
  ];
  const lines = [...calls.map((row) => line('calls', row)), ...messages.map((row) => line('messages', row))];
  return table(heads, lines, 1);
}

const victimTitles: Readonly<Record<Victim, string>> = {
  broker: 'broker',
  orchestrator: 'orchestrator',
  server: 'MCP server',
};

export function recoveryTable({ recovery }: FleetReport): string {
  const heads = [
    'killed',
    'kills',
    'ready again ms',
    'median worker ms',
    'last worker ms',
    'results',
    '`outcome_unknown`',
    'other failures',
    'lost',
    'doubled',
    'denied falsely',
  ];
  return table(heads, recovery.map(recoveryLine), 1, ['other failures']);
}

function recoveryLine({ victim, kills, tally }: RecoveryRow): string[] {
  const { results, outcomeUnknown, lost, doubled, deniedFalsely } = tally;
  const ready = kills.map(({ readyMs }) => readyMs).filter((ms) => ms !== undefined);
  return [
    victimTitles[victim],
    `${kills.length}`,
    ready.length === 0 ? '' : milliseconds(Math.max(...ready)),
    milliseconds(Math.max(...kills.map((kill) => quantileOf(timesOf(kill), 0.5)))),
    milliseconds(Math.max(...kills.flatMap(timesOf))),
    `${results}`,
    `${outcomeUnknown}`,
    failures(tally),
    ...[lost, doubled, deniedFalsely].map(String),
  ];
}

function timesOf({ workersMs }: KillRound): number[] {
  return workersMs.map((ms) => ms ?? Number.POSITIVE_INFINITY);
}

function failures({ failures }: CallTally): string {
  const named = Object.entries(failures).map(([code, count]) => `${count} \`${code}\``);
  return named.length === 0 ? 'none' : named.join(', ');
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function milliseconds(ms: number): string {
  return Number.isFinite(ms) ? ms.toFixed(0) : 'not within 30 s';
}
