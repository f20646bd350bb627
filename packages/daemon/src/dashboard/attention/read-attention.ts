import {
  listApprovals,
  listDeadLetters,
  listWebhooks,
  queryOrchestrator,
  readStatus,
} from '@signalbox/client/operator';
import { queryCalls, readFleet, readOperatorMail, summariesOf } from '@signalbox/client/operator/internal';
import { strandedRoles } from '../../config/internal.ts';
import type { ApiContext } from '../api/operation.ts';
import { isMissing, orMissing } from '../api/or-missing.ts';
import { type AttentionItem, attentionOf } from './attention.ts';

/** The most dead letters and waiting calls that are checked one by one. */
const most = { deadLetters: 500, approvals: 512 };

/** The items that need a person, and the things that were checked. */
export interface Attention {
  items: AttentionItem[];
  /** The calls that wait for a decision; `null` if the orchestrator did not answer. */
  approvals: number | null;
  /** The things that were checked: a noun in the singular, and the count; `null` if it could not be read. */
  checked: { what: string; count: number | null }[];
  /** Epoch milliseconds. */
  at: number;
}

/** Checks everything that may need a person. */
export async function readAttention(context: ApiContext): Promise<Attention> {
  const { client, orchestrator: name, signedIn, now } = context;
  const fleet = await readFleet(client);
  const { agents } = summariesOf(fleet);
  const { broker, hold, holds, orchestrator } = await readStatus(client, name, { fleet });
  // So many are only counted.
  const areMany = broker.dead_letters > most.deadLetters;
  const deadLetters = areMany
    ? { messages: [], more: true }
    : await listDeadLetters(client, { limit: most.deadLetters });
  // A page reads this again and again, and shows few of them: no client has to read them all each time.
  const tokens = context.tokens();
  const hooks = await listWebhooks(client);
  // An orchestrator that does not answer is not asked again.
  const isReady = orchestrator.state === 'ready';
  const calls = isReady ? await ifKnown(queryCalls(client, name)) : undefined;
  const asking = isReady
    ? await ifKnown(listApprovals(client, name, { brief: true, limit: most.approvals }))
    : undefined;
  const approvals = asking?.approvals;
  const isWithholding = orchestrator.servers.some(({ definitions }) => (definitions?.withheld ?? 0) > 0);
  const withheld = isWithholding
    ? await ifKnown(queryOrchestrator(client, name, { op: 'definitions', withheld: true }))
    : undefined;
  const withMail = agents.filter(({ mail }) => mail?.unread).map(({ agent }) => agent);
  const people = await readOperatorMail(client, withMail);
  const at = now();
  const facts = {
    broker,
    hold,
    agents,
    deadLetters,
    tokens,
    hooks,
    orchestrator,
    ...(calls && { calls }),
    ...(approvals && { approvals }),
    holds,
    ...(withheld && { withheld }),
    stranded: strandedRoles(tokens, context.listed?.()),
    own: signedIn.agent,
    people,
  };
  return {
    items: attentionOf(facts, at),
    approvals: approvals?.length ?? null,
    checked: [
      { what: 'approval', count: approvals?.length ?? null },
      { what: 'hold', count: holds.length },
      { what: 'agent', count: agents.filter(({ connected_at }) => connected_at !== undefined).length },
      { what: 'server', count: isReady ? orchestrator.servers.length : null },
      { what: 'call', count: calls?.length ?? null },
      { what: 'dead letter', count: broker.dead_letters },
      { what: 'token', count: tokens.length },
      { what: 'webhook', count: hooks.length },
    ],
    at,
  };
}

async function ifKnown<Answer extends object>(asked: Promise<Answer>): Promise<Answer | undefined> {
  const answer = await orMissing(asked);
  return isMissing(answer) ? undefined : answer;
}
