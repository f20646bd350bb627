import type { BrokerClient } from '@signalbox/client';
import { agentSummaries, listTokens } from '@signalbox/client/operator';
import {
  agentOf,
  isGroup,
  isReservedName,
  permissionsOfRole,
  type RecipientState,
  SignalboxError,
} from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { suggestion } from '@signalbox/protocol/internal';
import type { ConnectedClient } from '../connection/connected-client.ts';
import { type ConnectionFlags, hasAgentEnvironment } from '../connection/connection.ts';
import { count, oneLine } from '../terminal/output.ts';
import { askedRole, listedGroups } from '../token/listed-roles.ts';

/** The reasons for which messages to a recipient wait, for machines. Times are epoch milliseconds. */
export interface WhyWaiting extends Partial<RecipientState> {
  /** The number of its connections; for `role:ROLE`, of the agents with the role. */
  connected: number;
  /** The number of messages that it works on, or of tool calls that it waits for. Absent if it does nothing, or does not tell. */
  working?: number;
  /** The time since which its program fails on every message, and the newest reason. */
  failing?: { since: number; reason: string };
}

/** The longest reason that is shown, in characters. */
const reasonLength = 160;

/**
 * Asks the broker what keeps messages to a recipient waiting. Resolves with `undefined` where it can't be told: for `group:NAME`, for a
 * role that may not list agents, and if the question fails, as the message itself shall not.
 */
export async function whyWaiting(client: BrokerClient, to: string): Promise<WhyWaiting | undefined> {
  try {
    if (!isGroup(to)) return await whyAgentWaits(client, to);
    if (!to.startsWith('role:')) return undefined;
    const members = await client.listConnected({ role: to.slice('role:'.length) });
    return { connected: members.length };
  } catch {
    return undefined;
  }
}

async function whyAgentWaits(client: BrokerClient, to: string): Promise<WhyWaiting | undefined> {
  const agent = agentOf(to);
  const found = await client.findRecipient(agent);
  // The connection that asks does not answer.
  const connections = found.connections.filter(({ address }) => address !== client.address);
  const { state } = found;
  if (!state && connections.length === 0) return undefined;
  const { failing, state: does, running = 0 } = agentSummaries(connections, [])[0] ?? {};
  const { reads, unread, ...others } = state ?? {};
  return {
    connected: connections.length,
    ...others,
    // A sub-inbox has its own reader and its own mail.
    ...(to === agent && { ...(reads !== undefined && { reads }), ...(unread !== undefined && { unread }) }),
    ...(does === 'working' && { working: running }),
    ...(failing && { failing }),
  };
}

/**
 * Says that a command waits for a recipient to do something, with the reasons why that may take long. `before` is what was known before
 * the question: the question itself is no mail before it.
 */
export async function recipientText(
  { client }: ConnectedClient,
  to: string,
  todo: string,
  before?: WhyWaiting,
): Promise<string> {
  if (client.state.name !== 'ready') return `the broker at ${client.url}, to which the connection is lost`;
  const now = withoutOwn(await whyWaiting(client, to), before);
  return [`${to} ${todo}`, ...busyLines(to, now), ...whyWaitingLines(to, now, Date.now())].join('; ');
}

/** Says in words what else a recipient works on; nothing if it does not tell. */
export function busyLines(to: string, why: WhyWaiting | undefined): string[] {
  const { working = 0 } = why ?? {};
  if (working === 0) return [];
  return [working === 1 ? `${to} is busy` : `${to} is busy with ${working} things at a time`];
}

/** Counts only the mail that waited and the work that ran before the own question, which may be among both by now. */
export function withoutOwn(
  now: WhyWaiting | undefined,
  before: WhyWaiting | undefined,
): WhyWaiting | undefined {
  if (!now) return undefined;
  const { unread, working, ...others } = now;
  const counted = {
    ...(unread !== undefined && { unread: Math.min(unread, before?.unread ?? 0) }),
    ...(working !== undefined && { working: Math.min(working, before?.working ?? 0) }),
  };
  return { ...others, ...counted };
}

/** Adds to the refusal of an unknown agent or group what to do. Any other thrown value is returned as it is. */
export function withRecipientHint(error: unknown, to: string): unknown {
  if (!(error instanceof SignalboxError) || error.code !== 'unknown_recipient') return error;
  const agent = agentOf(to);
  if (isReservedName(agent)) return error;
  const make = `; signalbox token issue --agent ${agent} --role ROLE makes it known`;
  const hint = isGroup(to)
    ? 'a group is named in signalbox.yaml, under groups, or by its role: role:ROLE'
    : `signalbox ps lists who is connected${hasAgentEnvironment(process.env) ? '' : make}`;
  return new SignalboxError(error.code, error.message, { cause: error, details: { hint, ...error.details } });
}

/**
 * Rejects with `usage` if an operator's command found nothing of an agent or a group because nobody knows it: then it is misspelt.
 * Questions of those who may not see all agents are not checked, and groups only where the configuration is.
 */
export async function requireKnownAgent(
  { client, connection }: Pick<ConnectedClient, 'client' | 'connection'>,
  name: string,
  flags: ConnectionFlags,
): Promise<void> {
  if (permissionsOfRole(client.role).length === 0) return;
  if (name.startsWith('role:')) {
    await askedRole({ client, connection }, flags, name.slice('role:'.length));
    return;
  }
  if (isGroup(name)) return requireKnownGroup(name, await listedGroups(flags, connection.url));
  const agent = agentOf(name);
  const [{ connections, state }, tokens] = await Promise.all([
    client.findRecipient(agent),
    listTokens(client),
  ]);
  const names = new Set(tokens.map((token) => token.agent));
  if (connections.length > 0 || state?.ever_connected === true || names.has(agent)) return;
  throw new SignalboxError(
    'usage',
    `no agent '${agent}' has a token or ever connected${suggestion(agent, names)}`,
    { details: { hint: 'signalbox ps and signalbox token list show the agents' } },
  );
}

function requireKnownGroup(name: string, listed: readonly string[] | undefined): void {
  if (listed === undefined || listed.includes(name)) return;
  throw new SignalboxError('usage', `the configuration has no group '${name}'${suggestion(name, listed)}`, {
    details: { hint: 'groups are named in signalbox.yaml, under groups' },
  });
}

/** Says in words what keeps messages to a recipient waiting; nothing if it seems to read them. */
export function whyWaitingLines(to: string, why: WhyWaiting | undefined, now: number): string[] {
  if (!why) return [];
  const { connected, failing, failed, unread = 0, on_hold } = why;
  const lines = [
    ...presenceLines(to, why, now),
    ...(on_hold === undefined ? [] : [`${to} is held: ${on_hold}`]),
    ...(failed
      ? [
          `the program of ${to} ${oneLine(failed.reason, reasonLength)} (${formatDuration(now - failed.at)} ago, and it is not back)`,
        ]
      : []),
    ...(failing
      ? [
          `the program of ${to} has failed for ${formatDuration(now - failing.since)}, and its mail waits: ${oneLine(failing.reason, reasonLength)}`,
        ]
      : []),
  ];
  if (unread > 0 && (lines.length > 0 || connected > 0))
    lines.push(`${count(unread, 'message')} ${unread === 1 ? 'waits' : 'wait'} for ${to} before it`);
  return lines;
}

function presenceLines(to: string, why: WhyWaiting, now: number): string[] {
  const { connected, reads, ever_connected: ever, offline_since: since } = why;
  if (connected > 0)
    return reads === false ? [`${to} is connected, and no program of it takes its mail now`] : [];
  if (isGroup(to)) return [`no agent of ${to} is connected`];
  if (ever === false) return [`${to} has never connected`];
  return [`${to} is not connected${since === undefined ? '' : `, for ${formatDuration(now - since)} now`}`];
}
