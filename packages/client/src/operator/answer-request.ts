import type { BrokerClient, Outgoing, Receipt } from '@signalbox/client';
import { agentOf, isOperator, SignalboxError } from '@signalbox/protocol';
import { readHistory } from './history/history.ts';

/** The final reply to a request: its `correlationId` is the id of the request. */
export type Answer = Omit<Outgoing, 'kind'> & { correlationId: string };

/**
 * Sends the final reply to a request. If the request has its end, nothing is stored, and it rejects with `already_answered`, which tells
 * operators who answered, or that the request was withdrawn or is over.
 */
export async function answerRequest(client: BrokerClient, answer: Answer): Promise<Receipt> {
  try {
    return await client.deliver({ ...answer, kind: 'reply' });
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'already_answered') throw error;
    // The end is known, even if nobody can tell which it was.
    const end = isOperator(client.agent) ? await endOf(client, answer).catch(() => undefined) : undefined;
    if (end === undefined) throw error;
    const { by, why } = end;
    throw new SignalboxError('already_answered', `${why}; nothing was sent`, {
      cause: error,
      details: { ...error.details, ...(by !== undefined && { by }) },
    });
  }
}

/** Tells which end a request has, in words, and who answered it. */
async function endOf(
  client: BrokerClient,
  { to, correlationId }: Answer,
): Promise<{ why: string; by?: string } | undefined> {
  const asker = agentOf(to);
  const query = { since: 0, agent: asker, correlationId, newest: true, limit: 100 };
  const { messages } = await readHistory(client, query);
  // An agent may use an id for requests to several others; what operators are asked, operators answer.
  const reply = messages.find(
    ({ kind, inbox, from_agent: by }) => kind === 'reply' && agentOf(inbox) === asker && isOperator(by),
  );
  if (reply) {
    const { from_agent: by } = reply;
    return { why: `${by === client.agent ? `you ('${by}') have` : `'${by}' has`} answered this already`, by };
  }
  const request = messages.find(
    ({ id, from_agent: from, inbox }) => id === correlationId && from === asker && isOperator(agentOf(inbox)),
  );
  if (request?.outcome === 'cancelled') return { why: `'${asker}' has withdrawn this` };
  return request?.outcome === 'expired' ? { why: 'the time to answer this is over' } : undefined;
}
