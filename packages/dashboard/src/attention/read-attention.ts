import {
  listAgentSummaries,
  listCalls,
  listDeadLetters,
  listTokens,
  listWebhooks,
  readStatus,
} from '@signalbox/operator';
import type { ApiContext } from '../api/operation.ts';
import { isMissing, orMissing } from '../api/or-missing.ts';
import { type AttentionItem, attentionOf } from './attention.ts';

/** The most dead letters that are looked at one by one. */
const maxDeadLetters = 500;

/** What needs a person, and what was looked at. */
export interface Attention {
  items: AttentionItem[];
  /** What was looked at, and how many of each; `null` if that could not be asked. */
  checked: { what: string; count: number | null }[];
  /** Epoch milliseconds. */
  at: number;
}

/** Looks at everything that may need a person. */
export async function readAttention({ client, orchestrator: name, now }: ApiContext): Promise<Attention> {
  const { broker, hold, orchestrator } = await readStatus(client, name);
  const { agents } = await listAgentSummaries(client, client.address);
  const deadLetters = await listDeadLetters(client, { limit: maxDeadLetters });
  const tokens = await listTokens(client);
  const hooks = await listWebhooks(client);
  const calls = await orMissing(listCalls(client, name));
  const known = isMissing(calls) ? undefined : calls;
  const at = now();
  const facts = {
    broker,
    hold,
    agents,
    deadLetters,
    tokens,
    hooks,
    orchestrator,
    ...(known && { calls: known }),
  };
  const isReady = orchestrator.state === 'ready';
  return {
    items: attentionOf(facts, at),
    checked: [
      { what: 'agents', count: agents.filter(({ connected_at }) => connected_at !== undefined).length },
      { what: 'servers', count: isReady ? orchestrator.servers.length : null },
      { what: 'calls', count: known ? known.length : null },
      { what: 'dead letters', count: broker.dead_letters },
      { what: 'tokens', count: tokens.length },
      { what: 'webhooks', count: hooks.length },
    ],
    at,
  };
}
