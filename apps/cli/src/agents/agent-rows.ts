import type { WaitingAgent } from '@signalbox/operator';
import { type ConnectedAgent, isGroup } from '@signalbox/protocol';
import { bodyText } from '../messages/message-text.ts';
import { formatDuration } from '../terminal/duration.ts';
import { oneLine } from '../terminal/output.ts';
import { type WorkerStatus, workerStatus } from './worker-status.ts';

/** The last columns that a narrow terminal does without. */
export const optionalColumns = 2;

/** The headings of the table of agents. */
export const agentHeadings = ['AGENT', 'ROLE', 'STATE', 'FOR', 'MAIL', 'CLIENT', 'LAST OUTPUT'] as const;

const outputLength = 60;

/**
 * Writes one row for each agent with all its connections, and one for each group and each offline agent that has mail, in the order of names.
 * `now` in epoch milliseconds.
 */
export function agentRows(
  connections: readonly ConnectedAgent[],
  offline: readonly WaitingAgent[],
  now: number,
): string[][] {
  const byAgent = new Map<string, ConnectedAgent[]>();
  for (const connection of connections) {
    const known = byAgent.get(connection.agent);
    if (known) known.push(connection);
    else byAgent.set(connection.agent, [connection]);
  }
  const rows = [
    ...[...byAgent].map(([agent, ofAgent]) => connectedRow(agent, ofAgent, now)),
    ...offline.filter(({ agent }) => !byAgent.has(agent)).map((one) => offlineRow(one, now)),
  ];
  // Names of one run end in numbers: w-2 stands before w-10.
  const names = new Intl.Collator('en', { numeric: true });
  return rows.sort(([a = ''], [b = '']) => names.compare(a, b));
}

function offlineRow({ agent, roles, pending, oldest_at }: WaitingAgent, now: number): string[] {
  const mail = `${pending} (${formatDuration(now - oldest_at)})`;
  const [none, state] = isGroup(agent) ? ['no role', 'group'] : ['no token', 'offline'];
  return [agent, roles.join(', ') || none, state, '-', mail, '-', '-'];
}

function connectedRow(agent: string, connections: readonly ConnectedAgent[], now: number): string[] {
  const statuses = connections.flatMap(({ status }) => workerStatus(status) ?? []);
  const inbox = connections.find((one) => one.inbox)?.inbox;
  return [
    agent,
    joinDistinct(connections.map(({ role }) => role)),
    state(statuses),
    formatDuration(now - Math.min(...connections.map((one) => one.connected_at))),
    inbox ? mail(inbox) : '?',
    client(statuses),
    lastOutput(statuses, now) ?? otherStatus(connections) ?? '-',
  ];
}

function mail({ unread, held }: NonNullable<ConnectedAgent['inbox']>): string {
  if (unread === 0) return '-';
  return held === 0 ? `${unread}` : `${unread} (${held} held)`;
}

function state(statuses: readonly WorkerStatus[]): string {
  if (statuses.length === 0) return 'connected';
  if (statuses.some((status) => status.worker === 'run' && status.tools_lost)) return 'tools lost';
  const served = statuses.filter(({ worker }) => worker === 'serve');
  // The calls of a served agent are part of its turns.
  const counted = served.length > 0 ? served : statuses;
  const running = counted.reduce((sum, status) => sum + runningCalls(status), 0);
  return running === 0 ? 'idle' : `working ${running}`;
}

function runningCalls(status: WorkerStatus): number {
  if (status.worker === 'mcp') return status.calls;
  if (status.worker === 'serve') return status.turns;
  return status.worker === 'echo' && status.state === 'working' ? 1 : 0;
}

/** Names the MCP client; until it is connected, the command that was started for it. */
function client(statuses: readonly WorkerStatus[]): string {
  const clients = statuses.flatMap((status) => {
    if (status.worker === 'echo') return 'echo';
    return status.worker === 'mcp' ? (status.client ?? []) : [];
  });
  const commands = statuses.flatMap((status) => ('command' in status ? status.command : []));
  return joinDistinct(clients) || joinDistinct(commands) || '-';
}

function lastOutput(statuses: readonly WorkerStatus[], now: number): string | undefined {
  let latest: { at: number; text: string } | undefined;
  for (const status of statuses) {
    if (!('last_output' in status) || status.last_output === undefined) continue;
    const at = status.last_output_at ?? now;
    if (!latest || at > latest.at) latest = { at, text: status.last_output };
  }
  return latest && `${formatDuration(now - latest.at)} ago: ${oneLine(latest.text, outputLength)}`;
}

/** Writes the status that another program announced, as it is. */
function otherStatus(connections: readonly ConnectedAgent[]): string | undefined {
  const own = connections.filter(({ status }) => status !== undefined && !workerStatus(status));
  return own.length === 0
    ? undefined
    : joinDistinct(own.map(({ status }) => oneLine(bodyText(status), outputLength)));
}

function joinDistinct(texts: readonly string[]): string {
  return [...new Set(texts)].join(', ');
}
