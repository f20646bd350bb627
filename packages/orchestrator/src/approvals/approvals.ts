import type { BrokerClient, Log, ServedRequest } from '@signalbox/client';
import {
  type Fault,
  type McpReply,
  messageOf,
  type Sender,
  SignalboxError,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import { timerMs } from '@signalbox/tool-calls';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { CallKey } from '../journal/call-key.ts';
import { approvalEvents } from './approval-audit.ts';
import { errorOfEnd, tooManyWait, unfitArguments, unwrittenApproval } from './approval-errors.ts';
import {
  type ApprovalEnd,
  type ApprovalEvent,
  type ApprovalRecord,
  type BoundCall,
  differenceFrom,
  endBy,
  type ProposedCall,
  type StandingRecord,
} from './approval-record.ts';
import type { ApprovalQuery, ApprovalStore, NumberedApproval } from './approval-store.ts';
import type { ApprovalPolicy } from './ask-rules.ts';

/** How many calls may wait for decisions: of one agent, and of all. */
export interface ApprovalLimits {
  perAgent: number;
  all: number;
}

/** The bounds of calls that wait; each of them keeps a place of the inbox's window. */
export const defaultApprovalLimits: ApprovalLimits = { perAgent: 16, all: 512 };

/** How often it is looked whether callers of calls that wait have called them off while this process was away. */
const sweepEveryMs = 30_000;
/** The most calls that one question to the broker is about. */
const sweptAtOnce = 64;

/** The dependencies of {@link Approvals}. */
export interface ApprovalsDeps {
  store: ApprovalStore;
  client: Pick<BrokerClient, 'find'>;
  policy: () => ApprovalPolicy;
  /** Returns a hash of the present definition of a tool; `undefined` if no tool has this name now. */
  definitionHash: (tool: string) => string | undefined;
  /** Returns the reply to a call that has ended, for as long as it is kept. */
  replyOf: (request: CallKey) => McpReply | undefined;
  /** Tells those whom the policy names of a call that waits. */
  notify: (record: ApprovalRecord) => void;
  audit: Pick<AuditTrail, 'record'>;
  newId: () => string;
  limits?: ApprovalLimits;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
  log: Log;
}

/** A call that a rule has wait, or that waited before. */
export interface AskedCall {
  request: ServedRequest;
  bound: BoundCall;
  /** The JSON text of the arguments, without secrets. */
  arguments: string;
  rule: string;
  server: string | undefined;
  idempotencyKey: string | undefined;
  /** Called when the call begins to wait, with the id of its approval. */
  onWait: (id: string) => void;
}

/**
 * What became of a call that had to wait. `answered`: it was attached to another request, and gets that one's reply. `handed_back`: this
 * process ends before a decision came.
 */
export type Decision =
  | { status: 'approved'; record: ApprovalRecord }
  | { status: 'refused'; error: ToolCallError }
  | { status: 'answered'; reply: McpReply; of: ApprovalRecord }
  | { status: 'handed_back' };

/** An approval that has not ended. */
interface Open {
  record: ApprovalRecord;
  /** Resolves when the record is on the disk. */
  written: Promise<void>;
  /** The change that is being written. */
  ending: Promise<unknown> | undefined;
  /** Called with the decision; absent while the request is not here. */
  resolve: ((decision: Decision) => void) | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** The result of {@link Approvals.decide}. `isDone` is false if the approval had ended, or ended for another reason. */
export interface Decided {
  record: ApprovalRecord;
  isDone: boolean;
}

/**
 * Has calls wait until somebody decides on them. The record of a call is on the disk before its caller hears that it waits, and a decision
 * before the call starts or who decided hears of it. A request whose process died finds its record again by its id.
 */
export class Approvals implements Disposable {
  readonly #deps: ApprovalsDeps;
  readonly #limits: ApprovalLimits;
  readonly #open = new Map<string, Open>();
  /** The requests that wait here, by agent: those of approvals, and those that are attached to one. */
  readonly #waiting = new Map<string, number>();
  /** The replies for which attached requests wait, by approval. */
  readonly #replies = new Map<string, PromiseWithResolvers<McpReply>>();
  readonly #standing = new Map<string, StandingRecord>();
  readonly #closed = Promise.withResolvers<Decision>();
  readonly #sweeping: NodeJS.Timeout;

  /** Reads what the store holds. */
  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? defaultApprovalLimits;
    for (const record of deps.store.pending()) this.#add(record, Promise.resolve());
    for (const standing of deps.store.standing()) this.#standing.set(standing.id, standing);
    this.#sweeping = setInterval(() => void this.#sweep(), sweepEveryMs).unref();
  }

  /** Returns a hash of the present definition of a tool; `undefined` if no tool has this name now. */
  definitionHash(tool: string): string | undefined {
    return this.#deps.definitionHash(tool);
  }

  /** Returns the approval of a request, if it had to wait before. */
  of(request: CallKey): ApprovalRecord | undefined {
    return this.#deps.store.of(request);
  }

  /** Returns the approval with this id. */
  find(id: string): ApprovalRecord | undefined {
    return this.#open.get(id)?.record ?? this.#deps.store.find(id);
  }

  /** Lists the approvals that have not ended, newest first. */
  pending(): ApprovalRecord[] {
    return Array.from(this.#open.values(), ({ record }) => record).reverse();
  }

  /** Lists approvals, also those that have ended, newest first. */
  list(query: ApprovalQuery): NumberedApproval[] {
    return this.#deps.store.list(query);
  }

  /** Lists the standing approvals that are in force. */
  standing(): StandingRecord[] {
    const now = this.#deps.now();
    return [...this.#standing.values()].filter(({ until }) => until > now);
  }

  /** Waits until somebody decides on the call, or it ends otherwise. Nothing of it runs meanwhile. Never rejects. */
  async ask(call: AskedCall): Promise<Decision> {
    try {
      const known = this.#deps.store.of(call.bound);
      if (known) return await this.#resume(known, call);
      return await this.#propose(call);
    } catch (thrown) {
      this.#deps.log({ event: 'journal_failed', id: call.bound.requestId, reason: messageOf(thrown) });
      const isFull = thrown instanceof SignalboxError && thrown.code === 'journal_full';
      return { status: 'refused', error: unwrittenApproval(isFull, messageOf(thrown)) };
    }
  }

  /**
   * Takes a decision, as far as it changes anything. `standing` begins to hold with it. Rejects if it can't be written; the call waits on
   * then.
   */
  async decide(
    id: string,
    event: ApprovalEvent & { kind: 'approve' | 'deny' },
    standing?: StandingRecord,
  ): Promise<Decided | undefined> {
    const open = this.#open.get(id);
    if (!open) {
      const record = this.#deps.store.find(id);
      return record && { record, isDone: false };
    }
    await open.written;
    const change = this.#changeOf(open.record);
    if (change !== undefined) {
      const ended = await this.#end(open, { kind: 'supersede', reason: change });
      return { record: ended.record, isDone: false };
    }
    if (!open.resolve && !(await this.#isWanted(open))) {
      const ended = await this.#end(open, { kind: 'cancel', reason: gone });
      return { record: ended.record, isDone: false };
    }
    this.#deps.fault('orchestrator.approval.deciding');
    const decided = await this.#end(open, event, standing);
    if (decided.isDone && standing) this.#standing.set(standing.id, standing);
    return decided;
  }

  /** Ends a standing approval. Resolves with it when that is on the disk; `undefined` if there is none with this id. */
  async revokeStanding(id: string, asker: Sender): Promise<StandingRecord | undefined> {
    const standing = this.#standing.get(id);
    if (!standing) return undefined;
    await this.#deps.store.removeStanding(id);
    this.#standing.delete(id);
    this.#deps.audit.record(approvalEvents.standingRevoked(standing, asker));
    return standing;
  }

  /** Why an approved call may not start: it is not the one that was approved; `undefined` if it is. */
  refusalToStart(record: ApprovalRecord): ToolCallError | undefined {
    const reason = this.#changeOf(record);
    if (reason === undefined) return undefined;
    return errorOfEnd({ ...record, end: { state: 'superseded', endedAt: this.#deps.now(), reason } });
  }

  /** Reports that an approved call is made now. */
  started(record: ApprovalRecord): void {
    this.#deps.fault('orchestrator.approval.starting');
    this.#deps.audit.record(approvalEvents.started(record));
  }

  /** Reports that the reply to a call that waited is stored, or was refused. */
  delivered(request: CallKey, how: 'stored' | 'waits' | 'refused'): void {
    const record = this.#deps.store.of(request);
    if (record) this.#deps.audit.record(approvalEvents.answered({ ...record, ...request }, how));
  }

  /** Gives the reply of an approval's call to the requests that are attached to it. */
  answered(request: CallKey, reply: McpReply): void {
    const record = this.#deps.store.of(request);
    if (record?.requestId !== request.requestId) return;
    this.#replies.get(record.id)?.resolve(reply);
    this.#replies.delete(record.id);
  }

  /** Ends the approvals of calls whose tools are no longer those that they were. */
  definitionsChanged(): void {
    for (const open of this.#open.values()) {
      const reason = this.#changeOf(open.record);
      if (reason !== undefined) this.#endQuietly(open, { kind: 'supersede', reason });
    }
  }

  /** Hands back the calls that wait: their records stay, and the next process on this inbox goes on with them. */
  close(): void {
    this.#closed.resolve({ status: 'handed_back' });
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeping);
    for (const { timer } of this.#open.values()) clearTimeout(timer);
  }

  /** Goes on with a request that came again. */
  async #resume(record: ApprovalRecord, call: AskedCall): Promise<Decision> {
    if (record.requestId !== call.bound.requestId) return await this.#follow(record, call);
    const open = this.#open.get(record.id);
    const reason = differenceFrom(record, call.bound);
    if (reason === undefined) return open ? await this.#wait(open, call) : decisionOf(record);
    if (open) await this.#end(open, { kind: 'supersede', reason });
    const end = open?.record.end ?? { state: 'superseded' as const, endedAt: this.#deps.now(), reason };
    return decisionOf({
      ...record,
      end: end.state === 'approved' ? { ...end, state: 'superseded', reason } : end,
    });
  }

  async #propose(call: AskedCall): Promise<Decision> {
    const { bound, idempotencyKey } = call;
    const same = this.#sameOf(call);
    if (same && !isSameCall(same, bound)) {
      const why = `has the idempotency_key '${idempotencyKey}' of another call`;
      return { status: 'refused', error: unfitArguments(why) };
    }
    if (same) return await this.#attach(same, call);
    const now = this.#deps.now();
    const standing = this.#standingFor(bound, now);
    if (standing) return await this.#passBy(standing, call, now);
    const full = this.#fullFor(bound.agent);
    if (full) return { status: 'refused', error: full };
    const record = this.#recordOf(call, now);
    const open = this.#add(record, Promise.resolve());
    open.written = this.#deps.store.propose(record);
    try {
      await open.written;
    } catch (thrown) {
      this.#remove(open);
      throw thrown;
    }
    this.#deps.fault('orchestrator.approval.proposed');
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.notify(record);
    return await this.#wait(open, call);
  }

  /** Has a call run at once, by a standing approval. Its record says so. */
  async #passBy(standing: StandingRecord, call: AskedCall, now: number): Promise<Decision> {
    const proposed = this.#recordOf(call, now);
    const by = { ...standing.by, standing: standing.id };
    const record: ApprovalRecord = { ...proposed, end: { state: 'approved', endedAt: now, by } };
    await this.#deps.store.propose(proposed, record.end);
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.audit.record(approvalEvents.decided(record));
    return { status: 'approved', record };
  }

  #recordOf(
    { request, bound, server, idempotencyKey, arguments: args, rule }: AskedCall,
    now: number,
  ): ProposedCall {
    const remainingMs = request.remainingMs() ?? Number.POSITIVE_INFINITY;
    // A caller that gives little time hears of the end before its own deadline passes.
    const lifetimeMs = Math.min(
      this.#deps.policy().deadlineMs,
      remainingMs - Math.min(1000, remainingMs / 10),
    );
    const { agent, requestId, role, tool, definitionHash, argumentsHash } = bound;
    return {
      id: this.#deps.newId(),
      ...{ agent, requestId, role, tool, definitionHash, argumentsHash },
      ...(server !== undefined && { server }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      arguments: args,
      rule,
      createdAt: now,
      deadlineAt: Math.ceil(now + lifetimeMs),
    };
  }

  async #attach(record: ApprovalRecord, call: AskedCall): Promise<Decision> {
    const full = this.#fullFor(call.bound.agent);
    if (full) return { status: 'refused', error: full };
    return await this.#follow(record, call, async () => {
      await this.#open.get(record.id)?.written;
      await this.#deps.store.attach(record.id, call.bound);
    });
  }

  /** Waits for the reply of the call of an approval, for another request. `begin` writes that it does. */
  async #follow(
    record: ApprovalRecord,
    { request, bound, onWait }: AskedCall,
    begin?: () => Promise<void>,
  ): Promise<Decision> {
    const { signal } = request;
    const aborted = Promise.withResolvers<Decision>();
    const abort = () => aborted.resolve(endOfFollower(record, signal));
    this.#count(bound.agent, 1);
    try {
      await begin?.();
      const refused = decisionOf(record);
      if (refused.status === 'refused' && record.end) return refused;
      const known = this.#deps.replyOf(record);
      if (known) return { status: 'answered', reply: known, of: record };
      onWait(record.id);
      tellWaiting(request, record, this.#deps.now());
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      const answered = this.#replyTo(record.id).then((reply) => ({
        status: 'answered' as const,
        reply,
        of: record,
      }));
      return await Promise.race([answered, aborted.promise, this.#closed.promise]);
    } finally {
      this.#count(bound.agent, -1);
      signal.removeEventListener('abort', abort);
    }
  }

  async #wait(open: Open, call: AskedCall): Promise<Decision> {
    const { request, onWait } = call;
    const decided = Promise.withResolvers<Decision>();
    open.resolve = decided.resolve;
    onWait(open.record.id);
    tellWaiting(request, open.record, this.#deps.now());
    const { signal } = request;
    const abort = () => void this.#abort(open, signal).then(decided.resolve);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      const decision = await Promise.race([decided.promise, this.#closed.promise]);
      if (decision.status === 'approved') {
        const message = `approval ${open.record.id} was given`;
        request.progress({ progress: 0, message, awaiting_approval: false });
      }
      return decision;
    } finally {
      open.resolve = undefined;
      signal.removeEventListener('abort', abort);
    }
  }

  /** Ends a wait whose request was aborted: called off, over, or left to the next process. */
  async #abort(open: Open, { reason }: AbortSignal): Promise<Decision> {
    const code = reason instanceof SignalboxError ? reason.code : undefined;
    if (code === 'closed') return { status: 'handed_back' };
    const event: ApprovalEvent =
      code === 'timed_out'
        ? { kind: 'expire', requestIsOver: true }
        : { kind: 'cancel', reason: 'its caller called it off' };
    try {
      return decisionOf((await this.#end(open, event)).record);
    } catch (thrown) {
      // The call does not run. Its record is cancelled when the broker says that the request is over.
      this.#deps.log({ event: 'journal_failed', id: open.record.requestId, reason: messageOf(thrown) });
      const end: ApprovalEnd = { state: 'cancelled', endedAt: this.#deps.now() };
      return decisionOf({ ...open.record, end });
    }
  }

  /** Writes how an approval ends, one change after the other. Only the first one counts. */
  async #end(open: Open, event: ApprovalEvent, standing?: StandingRecord): Promise<Decided> {
    while (open.ending) await open.ending.catch(() => {});
    const outcome = endBy(open.record, event, this.#deps.now());
    if (!outcome) return { record: open.record, isDone: false };
    const { end, isDone } = outcome;
    const write = async () => {
      await open.written;
      const isFirst = await this.#deps.store.end(open.record.id, end, isDone ? standing : undefined);
      open.record = isFirst
        ? { ...open.record, end }
        : (this.#deps.store.find(open.record.id) ?? open.record);
    };
    open.ending = write();
    try {
      await open.ending;
    } finally {
      open.ending = undefined;
    }
    const { record, resolve } = open;
    if (isDone && event.kind === 'approve') this.#deps.fault('orchestrator.approval.decided');
    this.#remove(open);
    this.#deps.audit.record(approvalEvents.decided(record));
    resolve?.(decisionOf(record));
    return { record, isDone };
  }

  #endQuietly(open: Open, event: ApprovalEvent): void {
    this.#end(open, event).catch((thrown) =>
      this.#deps.log({ event: 'journal_failed', id: open.record.requestId, reason: messageOf(thrown) }),
    );
  }

  #add(record: ApprovalRecord, written: Promise<void>): Open {
    const open: Open = { record, written, ending: undefined, resolve: undefined, timer: undefined };
    this.#open.set(record.id, open);
    this.#count(record.agent, 1);
    this.#expireInTime(open);
    return open;
  }

  #remove(open: Open): void {
    if (!this.#open.delete(open.record.id)) return;
    clearTimeout(open.timer);
    this.#count(open.record.agent, -1);
  }

  #expireInTime(open: Open): void {
    const waitMs = open.record.deadlineAt - this.#deps.now();
    open.timer = setTimeout(() => {
      if (this.#deps.now() < open.record.deadlineAt) return this.#expireInTime(open);
      this.#endQuietly(open, { kind: 'expire' });
    }, timerMs(waitMs)).unref();
  }

  #count(agent: string, by: 1 | -1): void {
    const count = (this.#waiting.get(agent) ?? 0) + by;
    if (count > 0) this.#waiting.set(agent, count);
    else this.#waiting.delete(agent);
  }

  /** Resolves with the reply of an approval's call, when that is answered. */
  #replyTo(id: string): Promise<McpReply> {
    const known = this.#replies.get(id) ?? Promise.withResolvers<McpReply>();
    this.#replies.set(id, known);
    return known.promise;
  }

  #fullFor(agent: string): ToolCallError | undefined {
    const { perAgent, all } = this.#limits;
    if ((this.#waiting.get(agent) ?? 0) >= perAgent) return tooManyWait(agent, 'agent', perAgent);
    let waiting = 0;
    for (const count of this.#waiting.values()) waiting += count;
    return waiting >= all ? tooManyWait(agent, 'all', all) : undefined;
  }

  /**
   * Finds the approval whose reply a call gets: of the same call of the same agent while that waits, or of a call with its key that waits
   * or was approved.
   */
  #sameOf({ bound, idempotencyKey }: AskedCall): ApprovalRecord | undefined {
    for (const { record, ending } of this.#open.values()) {
      if (record.agent !== bound.agent || ending) continue;
      const isSame =
        idempotencyKey === undefined ? isSameCall(record, bound) : record.idempotencyKey === idempotencyKey;
      if (isSame) return record;
    }
    if (idempotencyKey === undefined) return undefined;
    const earlier = this.#deps.store.findByKey(bound.agent, idempotencyKey);
    return earlier?.end?.state === 'approved' ? earlier : undefined;
  }

  #standingFor({ agent, role, tool, definitionHash }: BoundCall, now: number): StandingRecord | undefined {
    return [...this.#standing.values()].find(
      (one) =>
        one.until > now &&
        one.agent === agent &&
        one.role === role &&
        one.tool === tool &&
        one.definitionHash === definitionHash,
    );
  }

  #changeOf(record: ApprovalRecord): string | undefined {
    return differenceFrom(record, { ...record, definitionHash: this.#deps.definitionHash(record.tool) });
  }

  /** Asks the broker whether anybody still waits for a call whose request is not here. */
  async #isWanted({ record }: Open): Promise<boolean> {
    const [state] = await this.#deps.client.find([{ agent: record.agent, id: record.requestId }]);
    return state === 'open';
  }

  /** Ends the approvals of calls that were called off while no orchestrator was there. */
  async #sweep(): Promise<void> {
    const absent = [...this.#open.values()].filter(({ resolve, ending }) => !resolve && !ending);
    try {
      for (let at = 0; at < absent.length; at += sweptAtOnce) {
        const some = absent.slice(at, at + sweptAtOnce);
        const states = await this.#deps.client.find(
          some.map(({ record }) => ({ agent: record.agent, id: record.requestId })),
        );
        for (const [i, open] of some.entries()) {
          if (states[i] !== 'open' && !open.resolve) this.#endQuietly(open, { kind: 'cancel', reason: gone });
        }
      }
    } catch (thrown) {
      this.#deps.log({ event: 'requests_not_checked', reason: messageOf(thrown) });
    }
  }
}

const gone = 'nobody waits for the call any more';

function decisionOf(record: ApprovalRecord): Decision {
  const error = errorOfEnd(record);
  return error ? { status: 'refused', error } : { status: 'approved', record };
}

/** How a request ends that was attached and is aborted: the call itself goes on. */
function endOfFollower({ id, tool }: ApprovalRecord, { reason }: AbortSignal): Decision {
  const code = reason instanceof SignalboxError ? reason.code : undefined;
  if (code === 'closed') return { status: 'handed_back' };
  const message =
    code === 'timed_out'
      ? `the deadline passed before the call of '${tool}' that waits for approval ${id} ended`
      : `the request was called off; the call of '${tool}' that waits for approval ${id} goes on`;
  const error = toolCallError(code === 'timed_out' ? 'approval_expired' : 'cancelled', message, {
    mayHaveRun: true,
  });
  return { status: 'refused', error };
}

function tellWaiting(request: ServedRequest, { id, deadlineAt }: ApprovalRecord, now: number): void {
  request.progress({
    progress: 0,
    message: `waiting for approval ${id} by a person`,
    awaiting_approval: { id, remaining_ms: Math.max(0, deadlineAt - now) },
  });
}

function isSameCall(record: BoundCall, call: BoundCall): boolean {
  return (
    record.role === call.role &&
    record.tool === call.tool &&
    record.definitionHash === call.definitionHash &&
    record.argumentsHash === call.argumentsHash
  );
}
