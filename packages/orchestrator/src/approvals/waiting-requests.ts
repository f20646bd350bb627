import type { Log, ServedRequest } from '@signalbox/client';
import { type McpReply, messageOf, SignalboxError, type ToolCallError } from '@signalbox/protocol';
import type { ApprovalRecord, ApprovalStore, BoundCall, CallKey } from '@signalbox/store/journal';
import { callerLeft, endOfFollower, errorOfEnd, mayComeAgain, usedApproval } from './approval-errors.ts';
import { type ApprovalEvent, isQuestion, isSameCall } from './approval-record.ts';
import type { ShownArguments } from './call-digests.ts';
import type { OpenApproval, OpenApprovals } from './open-approvals.ts';
import type { WaitingSlots } from './waiting-slots.ts';

/** A call that has to wait because of a rule, or that waited before. */
export interface AskedCall {
  request: ServedRequest;
  bound: BoundCall;
  /** The arguments as those who decide see them. */
  shown: ShownArguments;
  rule: string;
  server: string | undefined;
  idempotencyKey: string | undefined;
  /** True if it gets the reply of an earlier identical call of its agent. */
  joins: boolean;
  /** False if no standing approval lets it run. */
  mayStand: boolean;
  /** Tells whether its caller was told, for good, that it need not wait: the call is a task, or was answered `pending`. */
  isKept: () => boolean;
  /** Called when the call begins to wait, with the id of its approval. */
  onWait: (id: string) => void;
}

/**
 * The result for a call that had to wait. `answered`: it was attached to another request, and gets the reply to that one. `handed_back`:
 * this process ends before a decision.
 */
export type Decision =
  | { status: 'approved'; record: ApprovalRecord }
  | { status: 'refused'; error: ToolCallError }
  | { status: 'answered'; reply: McpReply; of: ApprovalRecord }
  | { status: 'handed_back' };

/** Returns the result for the call of an approval. A call whose approval has not ended is handed back. */
export function decisionOf(record: ApprovalRecord): Decision {
  if (!record.end) return { status: 'handed_back' };
  const error = errorOfEnd(record);
  return error ? { status: 'refused', error } : { status: 'approved', record };
}

/** The reply to another call; `left` if its caller waits no longer, `undefined` if nobody knows. */
type AwaitedReply = McpReply | 'left' | undefined;

/** The dependencies of {@link WaitingRequests}. */
export interface WaitingRequestsDeps {
  store: Pick<ApprovalStore, 'attach' | 'findByKey'>;
  open: OpenApprovals;
  slots: WaitingSlots;
  /** Reads the reply to a call that has ended, while it is kept. */
  replyOf: (request: CallKey) => Promise<McpReply | undefined>;
  /** Epoch milliseconds. */
  now: () => number;
  log: Log;
}

/**
 * The requests of this process that wait: for the end of their own approvals, or, attached to another request, for the reply to an earlier
 * identical call of their agent.
 */
export class WaitingRequests {
  readonly #deps: WaitingRequestsDeps;
  /** The functions that hand back requests which wait for their own approvals. */
  readonly #handBack = new Set<() => void>();
  /** The attached requests, by the approvals of the calls whose replies they wait for. */
  readonly #attached = new Map<string, Set<(reply: AwaitedReply) => void>>();
  /** The approvals whose requests this process has, and which have no reply yet. */
  readonly #underWay = new Set<string>();
  #isClosed = false;

  constructor(deps: WaitingRequestsDeps) {
    this.#deps = deps;
  }

  /** True once the waiting requests were handed back. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the approval of a call ends, when its request is aborted, or when this is closed. Never rejects. */
  async wait(open: OpenApproval, { request, onWait }: AskedCall): Promise<Decision> {
    this.#underWay.add(open.record.id);
    if (this.#isClosed) return { status: 'handed_back' };
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const handBack = () => resolve({ status: 'handed_back' });
    const { signal } = request;
    const abort = () => void this.#abort(open, signal).then(resolve);
    open.leftAt = undefined;
    open.onDecided = (record) => resolve(decisionOf(record));
    this.#handBack.add(handBack);
    onWait(open.record.id);
    tellWaiting(request, open.record, this.#deps.now());
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else if (open.record.end) resolve(decisionOf(open.record));
    try {
      const decision = await promise;
      if (decision.status === 'approved') {
        const message = `approval ${open.record.id} was given`;
        request.progress({ progress: 0, message, awaiting_approval: false });
      }
      return decision;
    } finally {
      open.onDecided = undefined;
      this.#handBack.delete(handBack);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Notes that this process makes the call of an approval, so that the reply will come here. */
  begins(approval: string): void {
    this.#underWay.add(approval);
  }

  /** Gives the reply to the call of an approval to the requests that are attached to it. */
  answered(approval: string, reply: McpReply): void {
    this.#underWay.delete(approval);
    this.#tell(approval, reply);
  }

  /** Gives the attached requests the error of an approval that was not given. They still wait, although its own request may be gone. */
  refused(approval: string, error: ToolCallError): void {
    this.#tell(approval, { error });
  }

  /** Tells the attached requests that the caller of their call waits no longer, so that the call is not made. */
  left(approval: string): void {
    this.#tell(approval, 'left');
  }

  /** Hands back the requests that wait now or begin to wait later. */
  close(): void {
    this.#isClosed = true;
    for (const handBack of this.#handBack) handBack();
    for (const approval of this.#attached.keys()) this.#tell(approval, undefined);
  }

  /**
   * Finds the approval whose reply a call gets: that of an identical call of the same agent, or of a call with its key, while that call
   * waits.
   */
  openSameOf({ bound, idempotencyKey, joins }: AskedCall): ApprovalRecord | undefined {
    if (!joins) return undefined;
    for (const { record, isEnding, leftAt } of this.#deps.open.all()) {
      if (record.agent !== bound.agent || (isEnding && leftAt === undefined)) continue;
      const isSame =
        idempotencyKey === undefined ? isSameCall(record, bound) : record.idempotencyKey === idempotencyKey;
      if (isSame) return record;
    }
    return undefined;
  }

  /**
   * Reads the approval of a call with the same key that was approved. The new call gets the reply to that one, too, unless that one was not
   * sent and may be made again.
   */
  async decidedSameOf({ bound, idempotencyKey, joins }: AskedCall): Promise<ApprovalRecord | undefined> {
    if (!joins || idempotencyKey === undefined) return undefined;
    const earlier = await this.#deps.store.findByKey(bound.agent, idempotencyKey);
    if (earlier?.end?.state !== 'approved') return undefined;
    const reply = await this.#deps.replyOf(earlier);
    return reply && 'error' in reply && mayComeAgain(reply.error) ? undefined : earlier;
  }

  /**
   * Attaches a request to an approval, and waits for the reply to its call. `minter` issued the token of the request's agent. Resolves as
   * {@link follow} does.
   */
  async attach(
    record: ApprovalRecord,
    call: AskedCall,
    minter: string | undefined,
  ): Promise<Decision | undefined> {
    const reply = record.end && (await this.#deps.replyOf(record));
    if (reply) return { status: 'answered', reply, of: record };
    const refusal = this.#deps.slots.refusalToAsk(call.bound, minter);
    if (refusal) return { status: 'refused', error: refusal };
    return await this.follow(record, call, minter, async () => {
      await this.#deps.open.get(record.id)?.written;
      await this.#deps.store.attach(record.id, call.bound);
    });
  }

  /**
   * Waits on behalf of another request for the reply to an approval's call. `begin` writes that it waits. Resolves with `undefined` if the
   * caller of that call waits no longer: then the other request has to ask for itself.
   */
  async follow(
    record: ApprovalRecord,
    { request, bound, onWait }: AskedCall,
    minter: string | undefined,
    begin?: () => Promise<void>,
  ): Promise<Decision | undefined> {
    const { slots, open, replyOf, now } = this.#deps;
    slots.take(bound.agent, minter);
    const over = new AbortController();
    try {
      await begin?.();
      // The wait begins first, so that no reply is missed while the journal is read.
      const waiting = this.#replyTo(record.id, AbortSignal.any([request.signal, over.signal]));
      if (open.get(record.id)?.leftAt !== undefined) return undefined;
      const refusal = errorOfEnd((await open.find(record.id)) ?? record);
      if (refusal) return { status: 'refused', error: refusal };
      const known = await replyOf(record);
      if (known) return { status: 'answered', reply: known, of: record };
      onWait(record.id);
      tellWaiting(request, record, now());
      if (await this.#isOver(record)) {
        const late = await replyOf(record);
        return late
          ? { status: 'answered', reply: late, of: record }
          : { status: 'refused', error: usedApproval(record) };
      }
      const reply = await waiting;
      if (reply === 'left') return undefined;
      if (reply) return { status: 'answered', reply, of: record };
      const error = this.#isClosed ? undefined : endOfFollower(record, request.signal);
      return error ? { status: 'refused', error } : { status: 'handed_back' };
    } finally {
      over.abort();
      slots.giveBack(bound.agent);
    }
  }

  /**
   * Tells whether the call of an approval has ended, so that no reply to it will come. If that can't be found out, the call counts as
   * running.
   */
  async #isOver({ id, ...record }: ApprovalRecord): Promise<boolean> {
    if (this.#deps.open.get(id) || this.#underWay.has(id)) return false;
    return !(await this.#deps.open.isWanted({ id, ...record }).catch(() => true));
  }

  #tell(approval: string, reply: AwaitedReply): void {
    for (const resolve of this.#attached.get(approval) ?? []) resolve(reply);
  }

  /** Resolves with the reply to an approval's call. If the signal aborts or this is closed first, it is `undefined`. */
  async #replyTo(approval: string, signal: AbortSignal): Promise<AwaitedReply> {
    if (this.#isClosed || signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<AwaitedReply>();
    const abort = () => resolve(undefined);
    const waiting = this.#attached.get(approval) ?? new Set();
    this.#attached.set(approval, waiting.add(resolve));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abort);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#attached.delete(approval);
    }
  }

  /** Ends a wait whose request was aborted: it was cancelled, its time is over, or it is left to the next process. */
  async #abort(open: OpenApproval, { reason }: AbortSignal): Promise<Decision> {
    const code = reason instanceof SignalboxError ? reason.code : undefined;
    if (code === 'closed') return { status: 'handed_back' };
    if (code !== 'timed_out' && !isQuestion(open.record) && !open.record.end) {
      this.#deps.open.leave(open);
      return { status: 'refused', error: callerLeft(open.record) };
    }
    const event: ApprovalEvent =
      code === 'timed_out'
        ? { kind: 'expire', requestIsOver: true }
        : { kind: 'cancel', reason: 'its caller cancelled it' };
    try {
      return decisionOf((await open.end(event)).record);
    } catch (thrown) {
      // The call does not run. Its record is cancelled when the broker says that the request is over.
      this.#deps.log({ event: 'journal_failed', id: open.record.requestId, reason: messageOf(thrown) });
      return decisionOf({ ...open.record, end: { state: 'cancelled', endedAt: this.#deps.now() } });
    }
  }
}

/** Tells a caller that its call waits, and for how long it can. `now` is in epoch milliseconds. */
function tellWaiting(request: ServedRequest, { id, deadlineAt }: ApprovalRecord, now: number): void {
  request.progress({
    progress: 0,
    message: `waiting for approval ${id} by a person`,
    awaiting_approval: { id, remaining_ms: Math.max(0, deadlineAt - now) },
  });
}
