import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';
import { type AdminParams, messageOf, SignalboxError } from '@signalbox/protocol';
import type { ChildToken, IssueToken } from './child-token.ts';
import type { ProcessEnd, RunEvent } from './run-event.ts';

/** The tokens that are issued for the processes of agents, and who is told when a process has ended. */
export interface ProcessTokenOptions {
  /** By default the role of the token that issues them. */
  role?: string;
  /** By default 24 h, or the rest of the life of the token that issues them. */
  ttlMs?: number;
  /** The agent that gets a message when a process has ended. */
  parent?: string;
  onEvent: (event: RunEvent) => void;
}

const defaultTtlMs = 24 * 3_600_000;
const retireTimeoutMs = 5000;
const whyNotTold = 'there is no such agent, its inbox is full, or this role may not write to it';
const nothingHeld = { told: false, heldIds: [] };

/** Gives every process the same token, which stays valid when they end. */
export function sameToken(text: string): IssueToken {
  const token: ChildToken = { text, retire: async () => nothingHeld };
  return async () => token;
}

/** Issues a token for each process, over the connection of a token that may do so, and revokes it when the process ends. */
export function processTokens(client: BrokerClient, options: ProcessTokenOptions): IssueToken {
  return async (agent) => {
    const { id, token } = await issue(client, agent, options);
    return { text: token, retire: (end) => retire(client, { agent, id }, end, options) };
  };
}

async function issue(client: BrokerClient, agent: string, { role, ttlMs }: ProcessTokenOptions) {
  const wanted = { agent, role: role ?? client.role };
  try {
    return await client.admin('token_issue', { ...wanted, ttl_ms: ttlMs ?? defaultTtlMs });
  } catch (error) {
    // A minting token may end sooner than our default: then the rest of its life is the limit.
    const tooLong = error instanceof SignalboxError && error.details.field === 'ttl_ms';
    if (!tooLong || ttlMs !== undefined) throw error;
    return await client.admin('token_issue', wanted);
  }
}

async function retire(
  client: BrokerClient,
  { agent, id }: { agent: string; id: string },
  end: ProcessEnd | undefined,
  { parent, onEvent }: ProcessTokenOptions,
): ReturnType<ChildToken['retire']> {
  const tell = end && parent !== undefined && parent !== agent ? parent : undefined;
  const exited = end && { ...end, ...(tell !== undefined && { tell }) };
  const warn = (code: 'token_not_revoked' | 'parent_not_told', message: string): void =>
    onEvent({ event: 'warning', agent, code, message });
  try {
    const report = await revoke(client, { id, ...(exited && { exited }) });
    if (tell !== undefined && !report.told)
      warn('parent_not_told', `'${tell}' was not told of the exit: ${whyNotTold}`);
    return report;
  } catch (first) {
    if (isGone(first)) return nothingHeld;
    if (tell !== undefined)
      warn('parent_not_told', `'${tell}' was not told of the exit: ${messageOf(first)}`);
  }
  try {
    await revoke(client, { id });
  } catch (second) {
    const message = `the token ${id} of the ended process could not be revoked (${messageOf(second)}); its file is gone, and it expires by itself`;
    if (!isGone(second)) warn('token_not_revoked', message);
  }
  return nothingHeld;
}

async function revoke(
  client: BrokerClient,
  params: AdminParams<'token_revoke'>,
): Promise<{ told: boolean; heldIds: string[] }> {
  const over = new AbortController();
  const late = delay(retireTimeoutMs, undefined, { signal: over.signal }).then(() => {
    throw new SignalboxError('timed_out', `no answer from the broker for ${retireTimeoutMs / 1000} s`);
  });
  try {
    const { told = false, held_ids: heldIds = [] } = await Promise.race([
      client.admin('token_revoke', params),
      late,
    ]);
    return { told, heldIds };
  } finally {
    over.abort();
    late.catch(() => {});
  }
}

function isGone(error: unknown): boolean {
  return error instanceof SignalboxError && error.code === 'unknown_token';
}
