import type { BrokerClient } from '@signalbox/client';
import { z } from 'zod';

const deadLetterSchema = z.object({
  seq: z.int(),
  inbox: z.string(),
  id: z.string(),
  from: z.object({ agent: z.string(), address: z.string(), role: z.string() }),
  kind: z.string(),
  correlation_id: z.string().optional(),
  created_at: z.number(),
  dead_at: z.number(),
  attempts: z.int(),
  size: z.int(),
  reason: z.string(),
});

/** A message that was given up. Times are epoch milliseconds of the broker's clock, `size` is that of the body in bytes. */
export type DeadLetter = z.infer<typeof deadLetterSchema>;

const pageSchema = z.object({ messages: z.array(deadLetterSchema), more: z.boolean() });
const shownSchema = z.object({ message: deadLetterSchema.extend({ body: z.string().optional() }) });
const seqs = z.array(z.int());
const refusedSchema = z.array(z.object({ seq: z.int(), code: z.string() }));
const retriedSchema = z.object({ retried: seqs, unknown: seqs, refused: refusedSchema.optional() });
const droppedSchema = z.object({ dropped: seqs, unknown: seqs });

const pageSize = 100;
const seqsPerRequest = 500;

/** The dead letters that are asked for: of which inbox, after which sequence number, and how many at most. */
export interface DeadQuery {
  inbox?: string;
  after?: number;
  limit: number;
}

/** Reads dead letters by sequence number; `more` says whether there are others beyond the limit. */
export async function listDeadLetters(
  client: BrokerClient,
  { inbox, after, limit }: DeadQuery,
): Promise<{ messages: DeadLetter[]; more: boolean }> {
  const messages: DeadLetter[] = [];
  let last = after;
  for (;;) {
    const page = pageSchema.parse(
      await client.admin('dead_list', {
        ...(inbox !== undefined && { inbox }),
        ...(last !== undefined && { after: last }),
        limit: Math.min(pageSize, limit - messages.length),
      }),
    );
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
): Promise<DeadLetter & { body?: string | undefined }> {
  return shownSchema.parse(await client.admin('dead_show', { seq })).message;
}

/** The outcome for each of the named numbers. Those under `refused` stay dead: their inbox cannot take them now. */
export interface Disposal {
  done: number[];
  unknown: number[];
  refused: { seq: number; code: string }[];
}

/** Stores dead letters again in their inboxes, or drops them for good. */
export async function disposeDeadLetters(
  client: BrokerClient,
  how: 'retry' | 'drop',
  all: readonly number[],
): Promise<Disposal> {
  const disposal: Disposal = { done: [], unknown: [], refused: [] };
  for (let at = 0; at < all.length; at += seqsPerRequest) {
    const some = all.slice(at, at + seqsPerRequest);
    const {
      done,
      unknown,
      refused = [],
    } = await (how === 'retry' ? retry(client, some) : drop(client, some));
    disposal.done.push(...done);
    disposal.unknown.push(...unknown);
    disposal.refused.push(...refused);
  }
  return disposal;
}

type Part = Omit<Disposal, 'refused'> & { refused?: Disposal['refused'] | undefined };

async function retry(client: BrokerClient, some: number[]): Promise<Part> {
  const { retried, ...rest } = retriedSchema.parse(await client.admin('dead_retry', { seqs: some }));
  return { done: retried, ...rest };
}

async function drop(client: BrokerClient, some: number[]): Promise<Part> {
  const { dropped, ...rest } = droppedSchema.parse(await client.admin('dead_drop', { seqs: some }));
  return { done: dropped, ...rest };
}
