import { type AdminParams, type AdminResult, isSubInbox } from '@signalbox/protocol';
import type { DeadLetter } from '@signalbox/store';
import type { StopOrder, StoppedWork } from '../../core/endings/cancellations.ts';
import { isRequest, lifetimeOf } from '../../core/message-header.ts';
import { auditCaller, type Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `dead_list`: returns dead letters in the order of their sequence numbers. */
export async function listDead(
  { inbox, after = 0, limit = 100 }: AdminParams<'dead_list'>,
  { store }: Pick<FrameDeps, 'store'>,
): OperationOutcome<'dead_list'> {
  const found = await store.dead.list(inbox, after, limit + 1);
  return { result: { messages: found.slice(0, limit).map(describe), more: found.length > limit } };
}

/** Runs `dead_show`: returns one dead letter with its body. */
export async function showDead(
  { seq }: AdminParams<'dead_show'>,
  { store }: Pick<FrameDeps, 'store'>,
): OperationOutcome<'dead_show'> {
  const found = await store.dead.find(seq);
  if (!found) {
    const message = `no dead letter has the number ${seq}; 'dead list' shows them`;
    return { refusal: { code: 'bad_frame', field: 'params.seq', message } };
  }
  const { body } = found;
  return { result: { message: { ...describe(found), ...(body !== undefined && { body }) } } };
}

/** Runs `dead_retry`: puts dead letters back into their inboxes. A message that can't be stored stays dead and is listed as `refused`. */
export async function retryDead(
  { seqs }: AdminParams<'dead_retry'>,
  deps: Pick<FrameDeps, 'store' | 'delivery' | 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'dead_retry'> {
  const retried: number[] = [];
  const unknown: number[] = [];
  const refused: { seq: number; code: string }[] = [];
  for (const number of new Set(seqs)) {
    const letter = await deps.store.dead.find(number);
    // Its asker gave it a minute, and is gone. A tool call must not get longer than its caller allowed.
    const leastMs = letter?.kind === 'mcp_request' ? 0 : lifetimeOf(caller.limits.message);
    const { result } = await deps.delivery.retryDead(number, leastMs);
    if (result === 'stored') retried.push(number);
    else if (result === 'unknown') unknown.push(number);
    else refused.push({ seq: number, code: result });
  }
  if (retried.length > 0) {
    auditNumbers(caller, 'dead_letters_retried', retried, deps);
  }
  return { result: { retried, unknown, ...(refused.length > 0 && { refused }) } };
}

/** Runs `dead_drop`: deletes dead letters. */
export async function dropDead(
  { seqs }: AdminParams<'dead_drop'>,
  deps: Pick<FrameDeps, 'store' | 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'dead_drop'> {
  const dropped: number[] = [];
  const unknown: number[] = [];
  for (const number of new Set(seqs)) {
    if (await deps.store.dead.drop(number)) dropped.push(number);
    else unknown.push(number);
  }
  if (dropped.length > 0) {
    auditNumbers(caller, 'dead_letters_dropped', dropped, deps);
  }
  return { result: { dropped, unknown } };
}

/** The longest wait for other brokers, whose consumers may work on a message, in milliseconds. */
const answerMs = 2000;

/** Runs `stop_work`: makes dead letters of messages that an agent works on, at this broker or another one. */
export async function stopWork(
  params: AdminParams<'stop_work'>,
  { delivery, talk, audit, now }: Pick<FrameDeps, 'delivery' | 'talk' | 'audit' | 'now'>,
  caller: Caller,
): OperationOutcome<'stop_work'> {
  const order: StopOrder = { ...params, detail: `stopped by ${caller.token.agent}` };
  const here = await delivery.cancellations.stopWork(order);
  const { answers } = await talk.askAll<StoppedWork[]>('stop_work', order, answerMs);
  const stopped = [...here, ...answers.flat()];
  const { agent, id, thread } = params;
  if (stopped.length === 0) {
    const which = id === undefined ? `a message of the thread '${thread}'` : `the message '${id}'`;
    return { refusal: { code: 'not_working', message: `'${agent}' does not work on ${which} now` } };
  }
  for (const one of stopped) {
    const detail = `${one.kind} '${one.id}' of '${one.from}', number ${one.seq}, in the thread '${one.thread}'`;
    auditCaller(caller, 'work_stopped', { detail, name: agent }, { audit, now });
  }
  return { result: { stopped } };
}

/** The most sequence numbers in one entry: more would not fit. */
const numbersAtOnce = 25;

function auditNumbers(
  caller: Caller,
  code: 'dead_letters_retried' | 'dead_letters_dropped',
  seqs: readonly number[],
  deps: Pick<FrameDeps, 'audit' | 'now'>,
): void {
  for (let from = 0; from < seqs.length; from += numbersAtOnce) {
    const some = seqs.slice(from, from + numbersAtOnce);
    auditCaller(caller, code, { detail: `sequence numbers ${some.join(', ')}` }, deps);
  }
}

function describe(letter: DeadLetter): AdminResult<'dead_list'>['messages'][number] {
  const { correlationId } = letter;
  return {
    seq: letter.seq,
    inbox: letter.inbox,
    id: letter.id,
    from: { agent: letter.sender, address: letter.senderAddress, role: letter.senderRole },
    kind: letter.kind,
    ...(correlationId !== undefined && { correlation_id: correlationId }),
    created_at: letter.createdAt,
    dead_at: letter.deadAt,
    attempts: letter.attempts,
    size: letter.size,
    reason: letter.reason,
    ...(isRequest(letter.kind) && isSubInbox(letter.senderAddress) && { unawaited: true as const }),
  };
}
