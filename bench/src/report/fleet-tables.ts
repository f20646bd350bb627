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

${workers.fair - 1} modest workers keep 1 or 2 calls in flight; the greedy one keeps 300. Each worker is a \`McpProxyExecutor\` with its own
agent and token. The greedy one has a process of its own. All limits are the defaults. The tool is \`${tool.name}\`
of \`@modelcontextprotocol/server-everything\`, which takes ${tool.ms} ms. The orchestrator runs ${tool.atOnce} calls of it at once.

*Share* is the rate of a modest worker, divided by its fair share. The fair share is a ${workers.fair}th of the rate of all workers
together, with or without the greedy one, the larger of the two. It is at most the rate that the worker had without the
greedy one. *Waits as told*: the greedy worker repeats a refused call after the time that the refusal names. *Insists*:
it repeats the call at once. All processes share the cores, so that the processor time of the greedy worker lowers the
shares, too.

${fairnessTable(calls, 'calls')}`;
}

function messageFairness({ workers, messages }: FleetReport): string {
  return `### One greedy sender among ${workers.fair}: plain messages

${workers.fair - 1} pairs of agents ask and answer. Each pair has one stored request at a time. The greedy agent keeps 900 stored messages in
flight to an agent that acks them at once. The fair share of a pair is its part of the requests that all pairs make
without the greedy agent. The broker has no scheduler for messages: the rate limit of 2,000 messages a second bounds the
greedy agent.

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

${workers.recovering} workers call a tool that takes 20 ms. Each makes one call at a time, and at most one every 250 ms. The broker, the
orchestrator and the MCP server are killed in turn, each time more than 10 s after all workers had come back. Broker and
orchestrator are started again at once, with the same port, the same files and the compiled code of the last start. The
orchestrator starts the MCP server again; its restart budget and its circuit breaker are switched off here.

The times of a worker begin with the kill. They end when the worker has the result of a call that it began after the
kill. Its call that was in flight ends before that. *Ready again*: the new broker listens, or the new orchestrator has
listed the tools of its server. Without a kill, a call takes ${calm.p50Ms.toFixed(0)} ms (p50) and ${calm.p99Ms.toFixed(0)} ms (p99). The target is for the
broker: the last worker of the worst round must be back in time.

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

The same calls again, by the process that had been killed last when they ended. The tool is not safe to repeat. It writes
each run to a file before it does anything else, and the results are compared with that file. *Lost*: the call had no end
by its deadline, or a result although it never ran. *Doubled*: it ran twice. *Denied falsely*: the error said that it had
not run, but it ran. These three must be 0.

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
