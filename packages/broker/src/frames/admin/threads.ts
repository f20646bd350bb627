import { type AdminParams, type AdminResult, operationPermissions } from '@signalbox/protocol';
import { listPermissions } from '@signalbox/protocol/internal';
import { type KeptBodies, type KeptBody, listedText } from '@signalbox/store';
import { auditCaller, type Caller, mayDo } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** The most characters of a body in a list, and the most bytes of bodies in one answer, of which one message may have more. */
const excerptLength = 500;
const maxBytes = 1024 * 1024;

type KeptMessage = AdminResult<'thread'>['messages'][number];

/** Runs `threads`: returns threads by their newest message. */
export async function listThreads(
  { agent, search = '', cursor, limit = 50 }: AdminParams<'threads'>,
  { store }: Pick<FrameDeps, 'store'>,
  caller: Caller,
): OperationOutcome<'threads'> {
  if (search !== '' && !seesBodies(caller)) {
    const message = `only a token with the permission ${listPermissions(operationPermissions.frame.kept_bodies)} may search the texts of messages`;
    return { refusal: { code: 'forbidden', message, field: 'params.search' } };
  }
  if (!store.kept.keeps) return { result: { threads: [] } };
  const words = search.split(/\s+/).filter((word) => word !== '');
  const page = await store.kept.threads({
    words,
    limit,
    ...(agent !== undefined && { agent }),
    ...(cursor !== undefined && { cursor }),
  });
  const threads: AdminResult<'threads'>['threads'] = [];
  for (const { newest, messages, since } of page.threads) {
    const text = seesBodies(caller) ? listedText(newest.body)?.slice(0, excerptLength) : undefined;
    threads.push({
      thread: newest.thread,
      messages,
      since,
      newest: { ...(await describe(newest, store)), ...(text !== undefined && { text }) },
    });
  }
  return {
    result: { threads, ...(page.cursor !== undefined && { cursor: page.cursor }), ...keepsOf(store.kept) },
  };
}

/** Runs `thread`: returns the messages of a thread in their order. */
export async function readThread(
  { thread, after = 0, limit = 100 }: AdminParams<'thread'>,
  { store }: Pick<FrameDeps, 'store'>,
  caller: Caller,
): OperationOutcome<'thread'> {
  // The store is forgetting the bodies that an earlier setting kept. Nobody is shown them.
  if (!store.kept.keeps) return { result: { messages: [], more: false } };
  const found = await store.kept.thread(thread, after, limit, maxBytes);
  const last = found.at(-1);
  const more = last !== undefined && (await store.kept.thread(thread, last.seq, 1, 0)).length > 0;
  const messages: KeptMessage[] = [];
  for (const one of found) {
    const body = seesBodies(caller) ? { body: one.body } : {};
    messages.push({ ...(await describe(one, store)), ...body });
  }
  return { result: { messages, more, ...keepsOf(store.kept) } };
}

/** Runs `thread_forget`: forgets what is kept of a thread. */
export async function forgetThread(
  { thread }: AdminParams<'thread_forget'>,
  deps: Pick<FrameDeps, 'store' | 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'thread_forget'> {
  const forgotten = await deps.store.kept.forget(thread);
  if (forgotten > 0)
    auditCaller(caller, 'thread_forgotten', { detail: `${forgotten} messages`, name: thread }, deps);
  return { result: { forgotten } };
}

/** Runs `texts`: returns the beginnings of texts that are kept. */
export async function readTexts(
  { seqs }: AdminParams<'texts'>,
  { store: { kept } }: Pick<FrameDeps, 'store'>,
): OperationOutcome<'texts'> {
  const found = kept.keeps && seqs.length > 0 ? await kept.read(seqs) : [];
  const texts = found.flatMap(({ seq, body }) => {
    const text = listedText(body);
    return text === undefined ? [] : [{ seq, text: text.slice(0, excerptLength) }];
  });
  return { result: { texts, ...keepsOf(kept) } };
}

function seesBodies(caller: Caller): boolean {
  return mayDo(caller, operationPermissions.frame.kept_bodies);
}

function keepsOf({ keeps }: KeptBodies): Pick<AdminResult<'thread'>, 'keeps'> {
  return keeps ? { keeps: { kinds: [...keeps.kinds], age_ms: keeps.ageMs, bytes: keeps.bytes } } : {};
}

async function describe(
  { seq, id, sender, inbox, kind, correlationId, createdAt, size }: KeptBody,
  store: FrameDeps['store'],
): Promise<KeptMessage> {
  const found = await store.find(inbox, sender, id);
  return {
    seq,
    id,
    from_agent: sender,
    to: inbox,
    kind,
    ...(correlationId !== undefined && { correlation_id: correlationId }),
    created_at: createdAt,
    size,
    ...(found && { state: found.outcome ?? 'pending' }),
  };
}
