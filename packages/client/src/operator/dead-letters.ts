import type { BrokerClient } from '@signalbox/client';
import { type AdminParams, type AdminResult, frameLimits } from '@signalbox/protocol';

/** A message that was given up. Times are epoch milliseconds of the broker's clock, `size` is that of the body in bytes. */
export type DeadLetter = AdminResult<'dead_list'>['messages'][number];

const pageSize = frameLimits.adminItems;
const seqsPerRequest = 500;

/** Selects dead letters: those of one inbox, those after a sequence number, and at most `limit`. */
export interface DeadLetterQuery {
  inbox?: string;
  after?: number;
  limit: number;
}

/** Reads dead letters in the order of their sequence numbers; `more` says whether there are others beyond the limit. */
export async function listDeadLetters(
  client: BrokerClient,
  { inbox, after, limit }: DeadLetterQuery,
): Promise<{ messages: DeadLetter[]; more: boolean }> {
  const messages: DeadLetter[] = [];
  let last = after;
  for (;;) {
    const page = await client.admin('dead_list', {
      inbox,
      after: last,
      limit: Math.min(pageSize, limit - messages.length),
    });
    messages.push(...page.messages);
    last = page.messages.at(-1)?.seq;
    if (!page.more || last === undefined) return { messages, more: false };
    if (messages.length >= limit) return { messages, more: true };
  }
}

/** Reads one dead letter with its body. Rejects with the broker's code if none has this number. */
export async function readDeadLetter(
  client: BrokerClient,
  seq: number,
): Promise<AdminResult<'dead_show'>['message']> {
  return (await client.admin('dead_show', { seq })).message;
}

/** The result for each of the named dead letters, by sequence number. */
export interface DeadLetterChanges {
  done: number[];
  /** The numbers that belong to no dead letter. */
  unknown: number[];
  /** The dead letters that stay dead because their inbox cannot take them now, with the broker's code. */
  refused: { seq: number; code: string }[];
}

/** Stores dead letters in their inboxes again, to be delivered as if they were new. */
export async function retryDeadLetters(
  client: BrokerClient,
  seqs: readonly number[],
): Promise<DeadLetterChanges> {
  return await inBatches(seqs, async (batch) => {
    const { retried, unknown, refused = [] } = await client.admin('dead_retry', { seqs: batch });
    return { done: retried, unknown, refused };
  });
}

/** Drops dead letters. They cannot be restored. */
export async function dropDeadLetters(
  client: BrokerClient,
  seqs: readonly number[],
): Promise<DeadLetterChanges> {
  return await inBatches(seqs, async (batch) => {
    const { dropped, unknown } = await client.admin('dead_drop', { seqs: batch });
    return { done: dropped, unknown, refused: [] };
  });
}

/**
 * Stops the work of an agent on a message, or on the messages of a thread: they become dead letters, and the one that works on them is told.
 * Rejects with `not_working` if the agent works on none.
 */
export async function stopWork(
  client: BrokerClient,
  work: AdminParams<'stop_work'>,
): Promise<AdminResult<'stop_work'>['stopped']> {
  return (await client.admin('stop_work', work)).stopped;
}

async function inBatches(
  seqs: readonly number[],
  change: (batch: number[]) => Promise<DeadLetterChanges>,
): Promise<DeadLetterChanges> {
  const all: DeadLetterChanges = { done: [], unknown: [], refused: [] };
  for (let at = 0; at < seqs.length; at += seqsPerRequest) {
    const { done, unknown, refused } = await change(seqs.slice(at, at + seqsPerRequest));
    all.done.push(...done);
    all.unknown.push(...unknown);
    all.refused.push(...refused);
  }
  return all;
}
