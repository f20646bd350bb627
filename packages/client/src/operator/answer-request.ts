import type { BrokerClient, Outgoing, Receipt } from '@signalbox/client';
import { agentOf, isOperator, SignalboxError } from '@signalbox/protocol';
import { readHistory } from './history/history.ts';

/** The final reply to a request: its `correlationId` is the id of the request. */
export type Answer = Omit<Outgoing, 'kind'> & { correlationId: string };

/**
 * Sends the final reply to a request. Rejects with `already_answered` if the request has its end, and tells operators who answered it;
 * nothing is stored then.
 */
export async function answerRequest(client: BrokerClient, answer: Answer): Promise<Receipt> {
  try {
    return await client.deliver({ ...answer, kind: 'reply' });
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code !== 'already_answered') throw error;
    // The end is known, even if nobody can tell whose it was.
    const by = isOperator(client.agent) ? await answererOf(client, answer).catch(() => undefined) : undefined;
    if (by === undefined) throw error;
    const who = by === client.agent ? `you ('${by}') have` : `'${by}' has`;
    throw new SignalboxError('already_answered', `${who} answered this already; nothing was sent`, {
      cause: error,
      details: { ...error.details, by },
    });
  }
}

async function answererOf(client: BrokerClient, { to, correlationId }: Answer): Promise<string | undefined> {
  const query = { since: 0, agent: agentOf(to), correlationId, newest: true, limit: 100 };
  const { messages } = await readHistory(client, query);
  // An agent may use an id for requests to several others; what operators are asked, operators answer.
  const reply = messages.find(
    ({ kind, inbox, from_agent: by }) => kind === 'reply' && agentOf(inbox) === agentOf(to) && isOperator(by),
  );
  return reply?.from_agent;
}
