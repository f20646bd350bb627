import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient } from '@signalbox/client';
import { type AdminParams, messageOf, SignalboxError } from '@signalbox/protocol';
import { late, within } from '@signalbox/serving';
import type { ExitFacts, IssueToken } from './child-token.ts';
import type { ProcessEnd, RunEvent } from './run-event.ts';

/** The role, the lifetime and the parent of the tokens that are issued for an agent's processes. */
export interface ProcessTokenOptions {
  /** The role of the tokens; by default that of the token that issues them. */
  role?: string;
  /** The lifetime of the tokens in milliseconds; by default 24 h, or the rest of the life of the token that issues them. */
  ttlMs?: number;
  /** The agent that gets a message when a process has ended. */
  parent?: string;
  onEvent: (event: RunEvent) => void;
  /**
   * The longest time that the end of a process and the start of the next one wait for an unreachable broker, in milliseconds; default 5 s.
   */
  answerTimeoutMs?: number;
}

const defaultTtlMs = 24 * 3_600_000;
const defaultAnswerTimeoutMs = 5000;
/** The wait before a revocation is tried again, in milliseconds. */
const retryMs = 500;
const whyNotTold = 'there is no such agent, its inbox is full, or this role may not write to it';
const nothingHeld = { revoked: false, told: false, heldIds: [] };

/** Gives every process the token that `read` returns at its start. The token stays valid when the process ends. */
export function sameToken(read: () => string): IssueToken {
  return async () => ({ text: read(), renew: async () => read(), retire: async () => nothingHeld });
}

/**
 * Issues a token for each process, over the connection of a token that may do so, and revokes it when the process ends. An unreachable
 * broker is told as soon as it is back, before it is asked for the token of the agent's next process. So the messages of the ended process
 * count as tried before another process reads them.
 */
export function processTokens(client: BrokerClient, options: ProcessTokenOptions): IssueToken {
  const { onEvent, answerTimeoutMs = defaultAnswerTimeoutMs } = options;
  /** The revocations that the broker has not answered yet, by agent. */
  const open = new Map<string, Promise<void>>();
  return async (agent) => {
    const last = open.get(agent);
    if (last && (await within(last, answerTimeoutMs)) === late) {
      const message = 'the broker was not told yet that the last process has ended';
      throw new SignalboxError('unreachable', message, { retryable: true });
    }
    const { id, token, expires_at: expiresAt } = await issue(client, agent, options);
    return {
      text: token,
      ...(expiresAt !== undefined && { expiresAt }),
      async retire(end) {
        const retirement = retire(client, { agent, id }, end, options);
        const known = await within(retirement, answerTimeoutMs);
        if (known !== late) return report(known);
        onEvent({ event: 'warning', agent, code: 'token_not_revoked', message: notRevokedYet(id) });
        const settled = retirement.then((outcome) => {
          open.delete(agent);
          // When this process itself is ending, it only warns.
          if (client.state.name === 'closed') return;
          const { told, heldIds } = report(outcome);
          if (end && !outcome.failed) onEvent({ event: 'exit_reported', agent, told, heldIds });
        });
        open.set(agent, settled);
        return nothingHeld;
      },
    };
    function report({ warnings, ...facts }: Retired): ExitFacts {
      for (const { code, message } of warnings) onEvent({ event: 'warning', agent, code, message });
      return { revoked: facts.revoked, told: facts.told, heldIds: facts.heldIds };
    }
  };
}

function notRevokedYet(id: string): string {
  return (
    `the broker does not answer, so that the token ${id} of the ended process is not revoked yet; that happens when it is back, ` +
    `if this command still runs then. Otherwise revoke it with 'signalbox token revoke ${id}'; its file is gone`
  );
}

async function issue(client: BrokerClient, agent: string, { role, ttlMs }: ProcessTokenOptions) {
  const wanted = { agent, role: role ?? client.role };
  try {
    return await client.admin('token_issue', { ...wanted, ttl_ms: ttlMs ?? defaultTtlMs });
  } catch (error) {
    // A minting token may expire sooner than our default lifetime: then the rest of its life is the limit.
    const tooLong = error instanceof SignalboxError && error.details.field === 'ttl_ms';
    if (!tooLong || ttlMs !== undefined) throw error;
    return await client.admin('token_issue', wanted);
  }
}

/** The outcome of a revocation. */
interface Retired extends ExitFacts {
  /** True if the broker refused it. */
  failed: boolean;
  warnings: readonly { code: 'token_not_revoked' | 'parent_not_told'; message: string }[];
}

/** Revokes the token of a process that has ended, and tries until the broker has answered. Never rejects. */
async function retire(
  client: BrokerClient,
  { agent, id }: { agent: string; id: string },
  end: ProcessEnd | undefined,
  { parent }: ProcessTokenOptions,
): Promise<Retired> {
  const tell = end && parent !== undefined && parent !== agent ? parent : undefined;
  const exited = end && { ...end, ...(tell !== undefined && { tell }) };
  const notTold = (why: string): Retired['warnings'] =>
    tell === undefined
      ? []
      : [{ code: 'parent_not_told', message: `'${tell}' was not told of the exit: ${why}` }];
  let warnings: Retired['warnings'];
  try {
    const facts = await revoke(client, { id, ...(exited && { exited }) });
    return { ...facts, revoked: true, failed: false, warnings: facts.told ? [] : notTold(whyNotTold) };
  } catch (first) {
    if (isGone(first)) return { ...nothingHeld, revoked: true, failed: false, warnings: [] };
    warnings = notTold(messageOf(first));
  }
  let revoked = true;
  try {
    await revoke(client, { id });
  } catch (second) {
    revoked = isGone(second);
    const message = `the token ${id} of the ended process could not be revoked (${messageOf(second)}); its file is gone, and it expires by itself`;
    if (!revoked) warnings = [...warnings, { code: 'token_not_revoked', message }];
  }
  return { ...nothingHeld, revoked, failed: true, warnings };
}

/** Asks the broker to revoke a token, again and again while it is unreachable. Rejects if the broker refuses or the client is closed. */
async function revoke(
  client: BrokerClient,
  params: AdminParams<'token_revoke'>,
): Promise<Omit<ExitFacts, 'revoked'>> {
  for (;;) {
    try {
      const { told = false, held_ids: heldIds = [] } = await client.admin('token_revoke', params);
      return { told, heldIds };
    } catch (error) {
      if (!isAway(error) || client.state.name === 'closed') throw error;
    }
    await delay(retryMs, undefined, { ref: false });
  }
}

/** Returns true if the broker gave no answer, as opposed to a refusal. */
function isAway(error: unknown): boolean {
  return (
    error instanceof SignalboxError && ['unreachable', 'connection_lost', 'timed_out'].includes(error.code)
  );
}

function isGone(error: unknown): boolean {
  return error instanceof SignalboxError && error.code === 'unknown_token';
}
