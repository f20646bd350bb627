import type { BrokerClient } from '@signalbox/client';
import { type AdminParams, type AdminResult, frameLimits } from '@signalbox/protocol';
import type { ListedCall } from '../orchestrator/calls.ts';
import { type ApprovalFacts, callsOrReason } from './timeline.ts';

/** A message whose body is kept. Times in epoch milliseconds. */
export type KeptMessage = AdminResult<'thread'>['messages'][number];

/** A page of threads, with the broker's setting: see the operation `threads`. */
export type ThreadsPage = AdminResult<'threads'>;

/** An entry of a transcript: a message, a tool call that was made in its thread, or an approval that this call waited for. */
export type TranscriptEntry =
  | ({ what: 'message'; at: number } & KeptMessage)
  | ({ what: 'call'; at: number } & ListedCall)
  | ({ what: 'approval'; at: number } & ApprovalFacts);

/** The entries of a thread by time. */
export interface Transcript {
  thread: string;
  entries: TranscriptEntry[];
  /** True if there are messages beyond the limit. Calls after the last message are then left out, too. */
  more: boolean;
  /** The setting of the broker; absent if it keeps no bodies. */
  keeps?: NonNullable<AdminResult<'thread'>['keeps']>;
  /** The reason why there are no tool calls, if the orchestrator could not be asked. */
  callsMissing?: { code: string; message: string };
}

/** A page of the broker may hold few threads, or none, although there are more. This many are read at most. */
const maxPages = 50;

/** Lists threads whose messages' bodies are kept, the one with the newest message first. */
export async function listThreads(
  client: BrokerClient,
  { limit, cursor, ...query }: AdminParams<'threads'> & { limit: number },
): Promise<ThreadsPage> {
  const threads: ThreadsPage['threads'] = [];
  let page: ThreadsPage;
  let next = cursor;
  let pages = 0;
  do {
    const wanted = Math.min(frameLimits.adminItems, limit - threads.length);
    page = await client.admin('threads', { ...query, cursor: next, limit: wanted });
    threads.push(...page.threads);
    next = page.cursor;
  } while (next !== undefined && threads.length < limit && ++pages < maxPages);
  return { ...page, threads };
}

/** Reads a thread: its messages with their bodies, the tool calls that were made in it, and their approvals. */
export async function readThread(
  client: BrokerClient,
  orchestrator: string,
  { thread, after, limit }: { thread: string; after?: number | undefined; limit: number },
): Promise<Transcript> {
  const messages: KeptMessage[] = [];
  let page: AdminResult<'thread'>;
  do {
    page = await client.admin('thread', {
      thread,
      after: messages.at(-1)?.seq ?? after,
      limit: Math.min(frameLimits.adminItems, limit - messages.length),
    });
    messages.push(...page.messages);
  } while (page.more && messages.length < limit);
  const { more, keeps } = page;
  const entries: TranscriptEntry[] = messages.map((one) => ({ what: 'message', at: one.created_at, ...one }));
  const [first, last] = [messages[0], messages.at(-1)];
  const found = first && (await callsOrReason(client, orchestrator, first.created_at));
  if (found && last) {
    const until = more ? last.created_at : Number.POSITIVE_INFINITY;
    const calls = found.calls.filter((call) => call.thread === thread && call.received_at <= until);
    const ids = new Set(calls.map(({ request_id }) => request_id));
    const asked = found.approvals.filter(({ request_id }) => ids.has(request_id));
    entries.push(...calls.map((one) => ({ what: 'call' as const, at: one.received_at, ...one })));
    entries.push(...asked.map((one) => ({ what: 'approval' as const, at: one.created_at, ...one })));
    entries.sort((a, b) => a.at - b.at);
  }
  const missing = found?.callsMissing && { callsMissing: found.callsMissing };
  return { thread, entries, more, ...(keeps && { keeps }), ...missing };
}

/** The beginnings of texts that the broker keeps, by the sequence numbers of their messages. `keeps` is absent if it keeps none. */
export interface KeptTexts {
  texts: ReadonlyMap<number, string>;
  keeps?: NonNullable<AdminResult<'texts'>['keeps']>;
}

/** Reads the beginnings of texts that are kept, by the sequence numbers of their messages. */
export async function readTexts(client: BrokerClient, seqs: readonly number[]): Promise<KeptTexts> {
  const texts = new Map<number, string>();
  let keeps: KeptTexts['keeps'];
  for (let from = 0; from === 0 || from < seqs.length; from += frameLimits.adminItems) {
    const page = await client.admin('texts', { seqs: seqs.slice(from, from + frameLimits.adminItems) });
    for (const { seq, text } of page.texts) texts.set(seq, text);
    keeps = page.keeps;
  }
  return { texts, ...(keeps && { keeps }) };
}

/** Forgets the bodies of a thread. Returns their number. */
export async function forgetThread(client: BrokerClient, thread: string): Promise<number> {
  return (await client.admin('thread_forget', { thread })).forgotten;
}
