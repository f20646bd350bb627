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

const leastShare = 0.8;
const longestRecoveryMs = 1500;

/** Fairness and recovery as Markdown: tables, how they were measured, and whether the targets are met. */
export function fleetTables(report: FleetReport): string {
  return [callFairness(report), messageFairness(report), recovery(report), outcomes(report)].join('\n\n');
}

function callFairness({ workers, tool, calls }: FleetReport): string {
  return `### One greedy worker among ${workers.fair}: tool calls

${workers.fair - 1} modest workers keep 1 or 2 calls in flight, the greedy one 300. Each is a \`McpProxyExecutor\` with an agent and a token of its
own, the greedy one in a process of its own; all limits are those that Signalbox ships with. They call \`${tool.name}\` of
\`@modelcontextprotocol/server-everything\`, which takes ${tool.ms} ms and of which the orchestrator runs ${tool.atOnce} at once. A *fair share* is a
${workers.fair}th of what all of them get done, with the greedy one, or without it if that is more, but never more than the worker got when the greedy
one was absent. *Waits as told*: what is turned away is tried again after the time that the refusal names; *insists*: at once.
Load and server share the cores, so what a flood costs its own process is missing in the shares too.

${fairnessTable(calls, 'calls')}`;
}

function messageFairness({ workers, messages }: FleetReport): string {
  return `### One greedy sender among ${workers.fair}: plain messages

${workers.fair - 1} pairs of agents ask and answer, one stored request at a time each; the greedy one keeps 900 stored messages in flight to an agent that acks
them at once. A *fair share* is a ${workers.fair}th of the requests that the pairs get done alone. The broker has no scheduler for messages; what bounds the greedy one is its rate limit, 2,000 messages a second.

${fairnessTable(messages, 'requests')}`;
}

function fairnessTable(rows: readonly FairnessRow[], unit: string): string {
  const heads = [
    'condition',
    `modest: ${unit} per s`,
    'p50 ms',
    'p99 ms',
    'greedy: per s',
    'refused per s',
    'share: min',
    'p10',
    'median',
    'worst of any round',
    `target ≥ ${percent(leastShare)}`,
  ];
  const lines = rows.map(({ condition, perSecond, p50Ms, p99Ms, greedy, shares, worstRound }) => [
    condition,
    perSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
    greedy?.perSecond.toFixed(0) ?? '',
    greedy?.refusedPerSecond.toFixed(0) ?? '',
    ...(shares ? [shares.min, shares.p10, shares.median, worstRound!].map(percent) : ['', '', '', '']),
    shares ? shareVerdict(shares.min) : '',
  ]);
  return table(heads, lines, 1, heads.slice(-1));
}

function shareVerdict(share: number): string {
  const points = Math.round((share - leastShare) * 100);
  if (share >= leastShare) return `met, by ${points} points`;
  return `missed, by ${Math.max(1, -points)} points`;
}

const victimTitles: Readonly<Record<Victim, string>> = {
  broker: 'broker',
  orchestrator: 'orchestrator',
  server: 'MCP server',
};

function recovery({ workers, recovery, calm }: FleetReport): string {
  const heads = [
    'killed',
    'round',
    'ready again ms',
    'all connected ms',
    'p50 ms',
    'p90 ms',
    'last worker ms',
    `target < ${longestRecoveryMs} ms`,
  ];
  const lines = recovery.flatMap(({ victim, kills }) => [
    ...kills.map((kill, at) => [victimTitles[victim], `${at + 1}`, ...killFigures(kill), '']),
    [
      `**${victimTitles[victim]}**`,
      '**worst**',
      '',
      '',
      '',
      '',
      worst(kills),
      recoveryVerdict(victim, kills),
    ],
  ]);
  return `### Coming back after kill -9

${workers.recovering} workers call a tool that takes 20 ms in a loop: each one call at a time, and at most one every 250 ms. The broker, the orchestrator and the MCP server are killed in turn,
each time more than 10 s after all had come back, and started again at once: at the same port, on the same files, with compiled code kept from the last
start, as the command keeps it. The MCP server is started again by the orchestrator, whose restart budget and circuit breaker are lifted here. Measured
from the kill until a worker has the result of a call that it began after the kill; the call that it had in flight ends first.
*Ready again*: the new process listens, or serves with the tools of its server listed. Undisturbed, a call takes ${calm.p50Ms.toFixed(0)} ms (p50) and ${calm.p99Ms.toFixed(0)} ms (p99). With ${workers.recovering} workers the 99th percentile of a round is its last worker,
and the target is held against the last worker of the worst round; it is set for the broker.

${table(heads, lines, 1, heads.slice(-1))}`;
}

function killFigures({ workersMs, readyMs, connectedMs }: KillRound): string[] {
  const times = workersMs.map((ms) => ms ?? Number.POSITIVE_INFINITY);
  const at = (q: number): string => milliseconds(quantileOf(times, q));
  const parts = [readyMs, connectedMs].map((ms) => (ms === undefined ? '' : milliseconds(ms)));
  return [...parts, at(0.5), at(0.9), milliseconds(times.at(-1)!)];
}

function worst(kills: readonly KillRound[]): string {
  return `**${milliseconds(worstMs(kills))}**`;
}

function recoveryVerdict(victim: Victim, kills: readonly KillRound[]): string {
  const over = worstMs(kills) - longestRecoveryMs;
  if (victim !== 'broker') return 'none set';
  if (over < 0) return `met, by ${milliseconds(-over)} ms`;
  return Number.isFinite(over) ? `missed, by ${milliseconds(over)} ms` : 'missed';
}

function worstMs(kills: readonly KillRound[]): number {
  return Math.max(...kills.flatMap(({ workersMs }) => workersMs.map((ms) => ms ?? Number.POSITIVE_INFINITY)));
}

function outcomes({ recovery }: FleetReport): string {
  const heads = [
    'killed',
    'kills',
    'results',
    '`outcome_unknown`',
    'other failures',
    'lost',
    'doubled',
    'denied falsely',
  ];
  return `### What the callers were told

Of the same calls, by who had been killed last when they ended, held against the file in which the tool notes each run before it does anything else. The tool
is not safe to repeat. *Lost*: no end by its deadline, or a result of what never ran. *Doubled*: ran twice. *Denied falsely*: said not to have run, but ran.
The last three must be 0.

${table(heads, recovery.map(outcomeLine), 1, ['other failures'])}`;
}

function outcomeLine({ victim, kills, tally }: RecoveryRow): string[] {
  const { results, outcomeUnknown, lost, doubled, deniedFalsely } = tally;
  const counts = [lost, doubled, deniedFalsely].map(String);
  return [
    victimTitles[victim],
    `${kills.length}`,
    `${results}`,
    `${outcomeUnknown}`,
    failures(tally),
    ...counts,
  ];
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
