import type { Status } from '@signalbox/client/operator';
import type { WaitingQuestions } from '@signalbox/client/operator/internal';
import { formatDuration } from '@signalbox/protocol/duration';
import { questionLines } from '../messages/waiting-messages.ts';
import { byteSize } from '../terminal/byte-size.ts';
import { count, tableLines } from '../terminal/output.ts';

/** A status, the address of the broker that it is about, and the questions to operators. */
export type LocatedStatus = Status & { url: string; questions: readonly WaitingQuestions[] };

/** Writes a status for people, on one screen. `now` in epoch milliseconds. */
export function statusLines(status: LocatedStatus, problems: readonly string[], now: number): string[] {
  const { servers } = status.orchestrator;
  const rows = servers.map(({ name, state, tool_count, last_error }) => [
    name,
    state,
    String(tool_count),
    last_error ?? '-',
  ]);
  return [
    ...facts(status, now).map(([name, text]) => `${name.padEnd(14)}${text}`),
    ...(rows.length > 0 ? ['', ...tableLines(['SERVER', 'STATE', 'TOOLS', 'LAST ERROR'], rows)] : []),
    '',
    ...(problems.length === 0 ? ['all is fine'] : ['degraded:', ...problems.map((text) => `  ${text}`)]),
  ];
}

function facts(
  { url, broker, hold, holds, questions, agents, orchestrator }: LocatedStatus,
  now: number,
): [string, string][] {
  const { version, started_at, receipt_means, pending, oldest_pending_at, dead_letters, scheduled } = broker;
  const { servers } = orchestrator;
  const oldest =
    oldest_pending_at === undefined ? '' : `, the oldest for ${formatDuration(now - oldest_pending_at)}`;
  return [
    [
      'broker',
      `${url}, up for ${formatDuration(now - started_at)}, version ${version}, receipts: ${receipt_means}`,
    ],
    ...brokersFacts(broker, now),
    ['orchestrator', orchestratorText(orchestrator)],
    [
      'servers',
      `${servers.filter(({ state }) => state === 'ready').length} of ${servers.length} ready${restText(servers)}, ${count(sum(servers, 'tool_count'), 'tool')}`,
    ],
    ['approvals', approvalsText(orchestrator.approvals, now)],
    ...questionLines(questions).map((text): [string, string] => ['questions', text]),
    ['holds', holdsText(holds.length, orchestrator.calls_held)],
    [
      'agents',
      `${agents.connected} connected, ${agents.withMail} of them with mail; ${agents.offlineWithMail} offline with mail`,
    ],
    ['mail', `${pending} waiting${oldest}; ${scheduled} for later; ${count(dead_letters, 'dead letter')}`],
    [
      'space',
      `${byteSize(broker.used_bytes)} of ${byteSize(broker.max_bytes)} used, ${byteSize(broker.disk_bytes)} on disk, ${byteSize(broker.free_bytes)} free there`,
    ],
    ...keptResultsFacts(orchestrator.kept_results),
    ...(orchestrator.unread_files ?? []).map((text): [string, string] => ['imports', text]),
    ['clock', clockText(hold)],
  ];
}

/** Returns a row about the brokers on a store; none if there never is another. */
function brokersFacts({ broker, brokers }: LocatedStatus['broker'], now: number): [string, string][] {
  if (!brokers) return [];
  const texts = brokers.map(({ name, since, linked }, place) => {
    const marks = [
      ...(name === broker ? ['this one'] : []),
      ...(place === 0 ? ['keeps house'] : []),
      ...(linked === false ? ['no link'] : []),
    ];
    const about = marks.length > 0 ? ` (${marks.join(', ')})` : '';
    return `${name}${about} for ${formatDuration(Math.max(0, now - since))}`;
  });
  return [['brokers', texts.join('; ')]];
}

function approvalsText(approvals: LocatedStatus['orchestrator']['approvals'], now: number): string {
  if (!approvals) return 'not known while no orchestrator answers';
  const { waiting, oldest_at: oldest = now, deadline_at: deadline = now } = approvals;
  if (waiting === 0) return 'no tool call waits for a person';
  const times = `the oldest for ${formatDuration(now - oldest)}, the first ends in ${formatDuration(deadline - now)}`;
  return `${count(waiting, 'tool call')} ${waiting === 1 ? 'waits' : 'wait'} for a person, ${times}: signalbox approvals`;
}

/** Returns a row about kept results; none if there are none. */
function keptResultsFacts(kept: LocatedStatus['orchestrator']['kept_results']): [string, string][] {
  if (!kept || (kept.results === 0 && kept.problem === undefined)) return [];
  const { results, bytes, max_bytes: most } = kept;
  return [
    ['results', `${count(results, 'large result')} kept for agents, ${byteSize(bytes)} of ${byteSize(most)}`],
  ];
}

function holdsText(holds: number, calls = 0): string {
  if (holds === 0) return 'nobody and nothing is held';
  const waiting =
    calls === 0 ? '' : `, ${count(calls, 'tool call')} ${calls === 1 ? 'waits' : 'wait'} for the release`;
  return `${count(holds, 'hold')}${waiting}: signalbox holds`;
}

function clockText(hold: LocatedStatus['hold']): string {
  if (!hold) return 'trusted';
  const leap = formatDuration(hold.to - hold.from);
  return hold.at_start
    ? `found ${leap} ahead at the start, as after a time without a broker`
    : `leapt by ${leap}`;
}

function orchestratorText({ name, state, servers }: LocatedStatus['orchestrator']): string {
  if (state === 'not_connected') return `none named '${name}' is connected`;
  if (state === 'silent') return `'${name}' is connected and does not answer`;
  return `ready: ${count(sum(servers, 'in_flight'), 'call')} running, ${sum(servers, 'waiting')} waiting`;
}

/** Says of the servers that are not ready which need not be. */
function restText(servers: LocatedStatus['orchestrator']['servers']): string {
  const idle = servers.filter(({ state, lazy }) => state === 'idle' && lazy).length;
  const disabled = servers.filter(({ state }) => state === 'disabled').length;
  return [
    ...(idle > 0 ? [`, ${idle} at the first call`] : []),
    ...(disabled > 0 ? [`, ${disabled} disabled`] : []),
  ].join('');
}

function sum<Key extends string>(all: readonly Record<Key, number>[], key: Key): number {
  return all.reduce((total, one) => total + one[key], 0);
}
