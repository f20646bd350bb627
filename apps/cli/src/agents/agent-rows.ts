import {
  type AgentSummary,
  agentSummaries,
  type FailedProgram,
  type WaitingAgent,
} from '@signalbox/client/operator';
import type { ConnectedAgent, Hold } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { bodyText } from '../messages/message-text.ts';
import { oneLine } from '../terminal/output.ts';

/** The number of last columns that are left out on a narrow terminal. */
export const optionalColumns = 2;

const outputLength = 60;
/** Longer, as the cause stands at its end. */
const failureLength = 120;

/**
 * Writes one row for each agent with all its connections, and one for each group and each offline agent that has mail or failed, in the
 * order of names. The brokers are a column if there are several. `now` in epoch milliseconds.
 */
export function agentTable(
  connections: readonly ConnectedAgent[],
  offline: readonly WaitingAgent[],
  now: number,
  failed: readonly FailedProgram[] = [],
  holds: readonly Hold[] = [],
): { headings: string[]; rows: string[][] } {
  const hasBrokers = connections.some(({ broker }) => broker !== undefined);
  const rows = agentSummaries(connections, offline, failed, holds).map((summary) => {
    const { connected_at: connectedAt, brokers } = summary;
    const row =
      connectedAt === undefined ? offlineRow(summary, now) : connectedRow(summary, connectedAt, now);
    return withBroker(row, hasBrokers, brokers.join(', ') || '-');
  });
  const headings = ['AGENT', 'ROLE', 'STATE', 'FOR', 'MAIL', 'CLIENT', 'LAST OUTPUT'];
  return { headings: withBroker(headings, hasBrokers, 'BROKER'), rows };
}

function withBroker(row: readonly string[], hasBrokers: boolean, text: string): string[] {
  return hasBrokers ? row.toSpliced(-optionalColumns, 0, text) : [...row];
}

function offlineRow(summary: AgentSummary, now: number): string[] {
  const { agent, roles, state, mail, oldest_at: oldest, failed } = summary;
  const waiting = oldest === undefined ? '-' : `${mail?.unread} (${formatDuration(now - oldest)})`;
  const none = state === 'group' ? 'no role' : 'no token';
  const since = failed ? formatDuration(now - failed.at) : '-';
  const shown = withHeld(summary, state);
  return [agent, roles.join(', ') || none, shown, since, waiting, '-', outputText(summary, now)];
}

function connectedRow(summary: AgentSummary, connectedAt: number, now: number): string[] {
  const { agent, roles, mail, clients } = summary;
  return [
    agent,
    roles.join(', '),
    withHeld(summary, stateText(summary, now)),
    formatDuration(now - connectedAt),
    mail ? mailText(mail) : '?',
    clients.join(', ') || '-',
    outputText(summary, now),
  ];
}

function withHeld({ on_hold: onHold }: AgentSummary, state: string): string {
  return onHold === undefined ? state : `held, ${state}`;
}

function mailText({ unread, held }: NonNullable<AgentSummary['mail']>): string {
  if (unread === 0) return '-';
  return !held ? `${unread}` : `${unread} (${held} handed out)`;
}

function stateText({ state, running, asking, failing, kept }: AgentSummary, now: number): string {
  if (failing) return `failing for ${formatDuration(now - failing.since)}`;
  const words = [
    state === 'working' ? `working ${running}` : state === 'tools_lost' ? 'tools lost' : state,
    ...(asking === undefined ? [] : ['waits for a person']),
    ...(kept === undefined ? [] : [`${kept} kept`]),
  ];
  return words.join(', ');
}

/** Writes the reason why its program fails or failed, or the last output of a worker, or the status that another program announced, as it is. */
function outputText({ failing, failed, last_output: output, announced }: AgentSummary, now: number): string {
  if (failing) return oneLine(failing.reason, outputLength);
  if (failed) return oneLine(failed.reason, failureLength);
  if (output) return `${formatDuration(now - (output.at ?? now))} ago: ${oneLine(output.text, outputLength)}`;
  const texts = announced.map((status) => oneLine(bodyText(status), outputLength));
  return [...new Set(texts)].join(', ') || '-';
}
