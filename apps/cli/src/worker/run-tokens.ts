import { setTimeout as delay } from 'node:timers/promises';
import { type BrokerClient, requestAddress } from '@signalbox/client';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { ChildToken, IssueToken, ProcessEnd, RunEvent } from '@signalbox/worker';
import { z } from 'zod';
import { openClient } from '../broker-connection/client-session.ts';
import type { RunIdentity } from './run-identity.ts';

/** How tokens for single processes are made and ended. */
export interface RunTokens extends AsyncDisposable {
  issue: IssueToken;
}

export interface RunTokenOptions {
  role?: string;
  ttlMs?: number;
  /** Who is told of an exit. */
  parent?: string;
  onEvent: (event: RunEvent) => void;
}

const defaultTtlMs = 24 * 3_600_000;
const retireTimeoutMs = 5000;
const whyNotTold = 'there is no such agent, its inbox is full, or this role may not write to it';
const nothing = { told: false, heldIds: [] };

const issuedSchema = z.object({ id: z.string(), token: z.string() });
const revokedSchema = z.object({
  told: z.boolean().default(false),
  held_ids: z.array(z.string()).default([]),
});

/** A plain token is used as it is, by every process. Others stay connected, to make a token for each process. */
export async function openRunTokens(identity: RunIdentity, options: RunTokenOptions): Promise<RunTokens> {
  const { connection, kind } = identity;
  if (kind === 'plain') {
    const token: ChildToken = { text: connection.token, retire: async () => nothing };
    return { issue: async () => token, [Symbol.asyncDispose]: async () => {} };
  }
  const address = kind === 'minting' ? connection.agent : requestAddress(connection.agent);
  const client = await openClient(connection, address);
  return {
    issue: async (agent) => {
      const { id, token } = await issue(client, agent, options);
      return { text: token, retire: (end) => retire(client, { agent, id }, end, options) };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function issue(client: BrokerClient, agent: string, { role, ttlMs }: RunTokenOptions) {
  const wanted = { agent, role: role ?? client.role };
  try {
    return issuedSchema.parse(
      await client.admin('token_issue', { ...wanted, ttl_ms: ttlMs ?? defaultTtlMs }),
    );
  } catch (error) {
    // A minting token that ends sooner than our default: then its own life is the bound.
    const tooLong = error instanceof SignalboxError && error.details.field === 'ttl_ms';
    if (!tooLong || ttlMs !== undefined) throw error;
    return issuedSchema.parse(await client.admin('token_issue', wanted));
  }
}

async function retire(
  client: BrokerClient,
  { agent, id }: { agent: string; id: string },
  end: ProcessEnd | undefined,
  { parent, onEvent }: RunTokenOptions,
): ReturnType<ChildToken['retire']> {
  const tell = end && parent !== undefined && parent !== agent ? { tell: parent, ...end } : undefined;
  const warn = (code: 'token_not_revoked' | 'parent_not_told', message: string): void =>
    onEvent({ event: 'warning', agent, code, message });
  try {
    const report = await revoke(client, { id, ...(tell && { exited: tell }) });
    if (tell && !report.told)
      warn('parent_not_told', `'${tell.tell}' was not told of the exit: ${whyNotTold}`);
    return report;
  } catch (first) {
    if (isGone(first)) return nothing;
    if (tell) warn('parent_not_told', `'${tell.tell}' was not told of the exit: ${messageOf(first)}`);
  }
  try {
    await revoke(client, { id });
  } catch (second) {
    const message = `the token ${id} of the ended process could not be revoked (${messageOf(second)}); its file is gone, and it expires by itself`;
    if (!isGone(second)) warn('token_not_revoked', message);
  }
  return nothing;
}

async function revoke(
  client: BrokerClient,
  params: Record<string, unknown>,
): Promise<{ told: boolean; heldIds: string[] }> {
  const over = new AbortController();
  const late = delay(retireTimeoutMs, undefined, { signal: over.signal }).then(() => {
    throw new SignalboxError('timed_out', `no answer from the broker for ${retireTimeoutMs / 1000} s`);
  });
  try {
    const answer = await Promise.race([client.admin('token_revoke', params), late]);
    const { told, held_ids } = revokedSchema.parse(answer);
    return { told, heldIds: held_ids };
  } finally {
    over.abort();
    late.catch(() => {});
  }
}

function isGone(error: unknown): boolean {
  return error instanceof SignalboxError && error.code === 'unknown_token';
}
