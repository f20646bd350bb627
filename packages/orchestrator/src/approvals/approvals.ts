import type { ServedRequest } from '@signalbox/client';
import {
  type McpReply,
  messageOf,
  type Sender,
  SignalboxError,
  type ToolCallError,
} from '@signalbox/protocol';
import type { CallKey } from '../journal/call-key.ts';
import { approvalEvents } from './approval-audit.ts';
import {
  endOfFollower,
  errorOfEnd,
  unfitArguments,
  unwrittenApproval,
  usedApproval,
} from './approval-errors.ts';
import {
  type ApprovalEvent,
  type ApprovalRecord,
  type BoundCall,
  differenceFrom,
  isSameCall,
  type ProposedCall,
  type StandingRecord,
} from './approval-record.ts';
import type { ApprovalQuery, ApprovalStore, NumberedApproval } from './approval-store.ts';
import type { ApprovalPolicy } from './ask-rules.ts';
import { AwaitedReplies } from './awaited-replies.ts';
import type { Decided, OpenApproval } from './open-approval.ts';
import { OpenApprovals, type OpenApprovalsDeps, type WaitingSummary } from './open-approvals.ts';
import { StandingApprovals } from './standing-approvals.ts';
import { type ApprovalLimits, defaultApprovalLimits, WaitingPlaces } from './waiting-places.ts';

/** The dependencies of {@link Approvals}. */
export interface ApprovalsDeps extends Omit<OpenApprovalsDeps, 'places' | 'onEnded'> {
  store: ApprovalStore;
  policy: () => ApprovalPolicy;
  /** Reads the reply to a call that has ended, for as long as it is kept. */
  replyOf: (request: CallKey) => Promise<McpReply | undefined>;
  /** Tells those whom the policy names of a call that waits. */
  notify: (record: ApprovalRecord) => void;
  /** Returns the minting token that issued that of an agent. */
  minterOf: (agent: string) => Promise<string | undefined>;
  /** Whether tokens are valid and decide on tool calls of a role, in the order of the question. */
  mayDecide: (deciders: readonly { tokenId: string; role: string }[]) => Promise<boolean[]>;
  newId: () => string;
  limits?: ApprovalLimits;
  /** Monotonic milliseconds. */
  monotonic: () => number;
}

/** A call that a rule has wait, or that waited before. */
export interface AskedCall {
  request: ServedRequest;
  bound: BoundCall;
  /** The JSON text of the arguments, without secrets. */
  arguments: string;
  /** The JSON text of what the server gets beside the arguments, without secrets. */
  meta?: string | undefined;
  rule: string;
  server: string | undefined;
  idempotencyKey: string | undefined;
  /** Whether it gets the reply of an earlier call of its agent that is the same. */
  joins: boolean;
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

/**
 * Has calls wait until somebody decides on them. The record of a call is on the disk before its caller hears that it waits, and a decision
 * before the call starts or who decided hears of it. A request whose process died finds its record again by its id.
 */
export class Approvals implements Disposable {
  /** The standing approvals. */
  readonly standing: StandingApprovals;
  readonly #deps: ApprovalsDeps;
  readonly #places: WaitingPlaces;
  readonly #open: OpenApprovals;
  readonly #replies = new AwaitedReplies();
  /** The approvals whose requests are here and have no reply yet. */
  readonly #underWay = new Set<string>();
  /** Called with the calls that wait here when this is closed. */
  readonly #handBack = new Set<() => void>();
  #isClosed = false;
  readonly #unsubscribe: () => void;
  #refreshing: Promise<void> = Promise.resolve();

  private constructor(
    deps: ApprovalsDeps,
    { pending, standing }: { pending: readonly ApprovalRecord[]; standing: readonly StandingRecord[] },
  ) {
    this.#deps = deps;
    this.#places = new WaitingPlaces(deps.limits ?? defaultApprovalLimits, deps.monotonic);
    this.standing = new StandingApprovals(deps.store, standing, deps.now, deps.monotonic);
    const onEnded = (record: ApprovalRecord): void => {
      // Its own request may be gone, and others that are attached to it still wait.
      const error = errorOfEnd(record);
      if (error) this.#replies.answered(record.id, { error });
    };
    this.#open = new OpenApprovals({ ...deps, places: this.#places, onEnded }, pending);
    this.#unsubscribe = deps.store.onChanged(() => {
      this.#refreshing = this.#refreshing.then(() => this.#refresh());
    });
  }

  /** Reads what the store holds, and goes on with it. */
  static async open(deps: ApprovalsDeps): Promise<Approvals> {
    const [pending, standing] = await Promise.all([deps.store.pending(), deps.store.standing()]);
    return new Approvals(deps, { pending, standing });
  }

  /** Returns a hash of the present definition of a tool; `undefined` if no tool has this name now. */
  definitionHash(tool: string): string | undefined {
    return this.#deps.definitionHash(tool);
  }

  /** Reads the approval of a request, if it had to wait before. */
  of(request: CallKey): Promise<ApprovalRecord | undefined> {
    return this.#deps.store.of(request);
  }

  /** Reads the approval with this id. */
  async find(id: string): Promise<ApprovalRecord | undefined> {
    return this.#open.get(id)?.record ?? (await this.#deps.store.find(id));
  }

  /** Lists the approvals that have not ended, newest first. */
  pending(): ApprovalRecord[] {
    return Array.from(this.#open.all(), ({ record }) => record).reverse();
  }

  /** Counts the calls that wait for a decision. */
  summary(): WaitingSummary {
    return this.#open.summary();
  }

  /** Lists approvals, also those that have ended, newest first. */
  list(query: ApprovalQuery): Promise<NumberedApproval[]> {
    return this.#deps.store.list(query);
  }

  /** Waits until somebody decides on the call, or it ends otherwise. Nothing of it runs meanwhile. Never rejects. */
  async ask(call: AskedCall): Promise<Decision> {
    const { bound } = call;
    try {
      const minter = await this.#deps.minterOf(bound.agent);
      const standing = await this.#standingFor(bound);
      const known = await this.#deps.store.of(bound);
      this.#places.belongs(bound.agent, minter);
      return known ? await this.#resume(known, call, minter) : await this.#propose(call, minter, standing);
    } catch (thrown) {
      this.#logFailure(bound.requestId, thrown);
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
    const known = this.#open.get(id);
    const record = known ? undefined : await this.#deps.store.find(id);
    // Another process may have proposed it a moment ago.
    const open = known ?? this.#open.get(id) ?? (record && !record.end ? this.#open.add(record) : undefined);
    if (!open) return record && { record, isDone: false };
    const decided = await this.#open.decide(open, event, standing);
    if (decided.isDone && standing) this.standing.add(standing);
    return decided;
  }

  /**
   * Ends the approval of a call that waits for it, because the call is called off. Resolves with false if it has ended otherwise. Rejects if
   * that can't be written.
   */
  async cancel(id: string, reason: string): Promise<boolean> {
    const ended = await this.#open.get(id)?.end({ kind: 'cancel', reason });
    return ended?.isDone ?? false;
  }

  /** Ends a standing approval. Resolves with it when that is on the disk; `undefined` if there is none with this id. */
  async revokeStanding(id: string, asker: Sender): Promise<StandingRecord | undefined> {
    const standing = await this.standing.revoke(id);
    if (standing) this.#deps.audit.record(approvalEvents.standingRevoked(standing, asker));
    return standing;
  }

  /** Ends the standing approvals whose givers can't decide any more. Resolves also if the broker does not say who can. */
  async endOrphaned(): Promise<void> {
    const all = this.standing.list();
    const decide = await this.#decide(all);
    for (const [i, standing] of all.entries()) if (decide?.[i] === false) await this.#endOrphan(standing);
  }

  /** Returns why an approved call may not start: it is not the one that was approved; `undefined` if it is. */
  refusalToStart(record: ApprovalRecord): ToolCallError | undefined {
    const reason = this.#open.changeOf(record);
    if (reason === undefined) return undefined;
    return errorOfEnd({ ...record, end: { state: 'superseded', endedAt: this.#deps.now(), reason } });
  }

  /** Reports that an approved call is made now. */
  started(record: ApprovalRecord): void {
    this.#deps.fault('orchestrator.approval.starting');
    this.#deps.audit.record(approvalEvents.started(record));
  }

  /** Reports that the reply to a call that waited is stored, or was refused. */
  async delivered(request: CallKey, how: 'stored' | 'waits' | 'refused'): Promise<void> {
    const record = await this.#recordOfRequest(request);
    if (record) this.#deps.audit.record(approvalEvents.answered({ ...record, ...request }, how));
  }

  /** Gives the reply of an approval's call to the requests that are attached to it. The reply is in the journal already. */
  async answered(request: CallKey, reply: McpReply): Promise<void> {
    const record = await this.#recordOfRequest(request);
    if (record?.requestId !== request.requestId) return;
    this.#underWay.delete(record.id);
    this.#replies.answered(record.id, reply);
  }

  /** Notes that a call that waited has ended: its request, if it comes again, is not made by the same approval. */
  async ended(request: CallKey): Promise<void> {
    if (!(await this.#recordOfRequest(request))) return;
    await this.#deps.store.use(request).catch((thrown) => this.#logFailure(request.requestId, thrown));
  }

  /** Ends the approvals of calls whose tools are no longer those that they were. */
  definitionsChanged(): void {
    this.#open.definitionsChanged();
  }

  /** Hands back the calls that wait: their records stay, and the next process on this inbox goes on with them. */
  close(): void {
    this.#isClosed = true;
    for (const handBack of this.#handBack) handBack();
    this.#replies.close();
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#open[Symbol.dispose]();
  }

  /** Looks at what other processes have changed. */
  async #refresh(): Promise<void> {
    if (this.#isClosed) return;
    try {
      const { store } = this.#deps;
      const [pending, standing] = await Promise.all([store.pending(), store.standing()]);
      if (this.#isClosed) return;
      this.standing.refresh(standing);
      await this.#open.refresh(pending);
    } catch (thrown) {
      this.#deps.log({ event: 'approvals_not_read', reason: messageOf(thrown) });
    }
  }

  /** Reads the approval of a request that was answered. Of one that can't be read, nothing more is told. */
  async #recordOfRequest(request: CallKey): Promise<ApprovalRecord | undefined> {
    try {
      return await this.#deps.store.of(request);
    } catch (thrown) {
      this.#logFailure(request.requestId, thrown);
      return undefined;
    }
  }

  /** Goes on with a request that came again. */
  async #resume(record: ApprovalRecord, call: AskedCall, minter: string | undefined): Promise<Decision> {
    if (record.requestId !== call.bound.requestId) return await this.#follow(record, call, minter);
    const open = this.#open.get(record.id);
    const reason = differenceFrom(record, call.bound);
    if (reason === undefined && open) return await this.#wait(open, call);
    if (reason === undefined) {
      if (record.isUsed && record.end?.state === 'approved')
        return { status: 'refused', error: usedApproval(record) };
      this.#underWay.add(record.id);
      return decisionOf(record);
    }
    const ended = open ? (await open.end({ kind: 'supersede', reason })).record : record;
    const end = ended.end && ended.end.state !== 'approved' ? ended.end : undefined;
    return decisionOf({
      ...record,
      end: end ?? { state: 'superseded', endedAt: this.#deps.now(), reason },
    });
  }

  /** Returns a standing approval that lets a call pass, if the token of its giver still decides. */
  async #standingFor(bound: BoundCall): Promise<StandingRecord | undefined> {
    for (;;) {
      if (!this.standing.for(bound)) return undefined;
      // Another process may have revoked it.
      this.standing.refresh(await this.#deps.store.standing());
      const standing = this.standing.for(bound);
      if (!standing) return undefined;
      const decide = await this.#decide([standing]);
      if (decide?.[0]) return standing;
      // Where nobody says it, the call asks a person, and the standing approval stays.
      if (!decide) return undefined;
      await this.#endOrphan(standing);
    }
  }

  async #decide(standing: readonly StandingRecord[]): Promise<boolean[] | undefined> {
    if (standing.length === 0) return [];
    try {
      return await this.#deps.mayDecide(standing.map(({ by, role }) => ({ tokenId: by.tokenId, role })));
    } catch (thrown) {
      this.#deps.log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
      return undefined;
    }
  }

  async #endOrphan({ id }: StandingRecord): Promise<void> {
    const standing = await this.standing.revoke(id);
    if (standing) this.#deps.audit.record(approvalEvents.standingEnded(standing));
  }

  async #propose(
    call: AskedCall,
    minter: string | undefined,
    allowed: StandingRecord | undefined,
  ): Promise<Decision> {
    const { bound, idempotencyKey } = call;
    const decided = await this.#decidedSameOf(call);
    // From here to the new record, nothing is waited for: of two calls that are the same, the second finds the first.
    const same = this.#openSameOf(call) ?? decided;
    if (same && !isSameCall(same, bound)) {
      const why = `has the idempotency_key '${idempotencyKey}' of another call`;
      return { status: 'refused', error: unfitArguments(why) };
    }
    if (same) return await this.#attach(same, call, minter);
    const standing = this.standing.for(bound);
    if (standing && standing.id === allowed?.id) return await this.#passBy(standing, call);
    const refusal = this.#places.refusalToAsk(bound, minter);
    if (refusal) return { status: 'refused', error: refusal };
    const record = this.#recordOf(call);
    const open = this.#open.add(record, minter);
    open.written = this.#deps.store.propose(record);
    try {
      await open.written;
    } catch (thrown) {
      this.#open.drop(open);
      throw thrown;
    }
    this.#deps.fault('orchestrator.approval.proposed');
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.notify(record);
    return await this.#wait(open, call);
  }

  /** Has a call run at once, by a standing approval. Its record says so. */
  async #passBy(standing: StandingRecord, call: AskedCall): Promise<Decision> {
    const proposed = this.#recordOf(call);
    const by = { ...standing.by, standing: standing.id };
    const record: ApprovalRecord = {
      ...proposed,
      end: { state: 'approved', endedAt: proposed.createdAt, by },
    };
    await this.#deps.store.propose(proposed, record.end);
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.audit.record(approvalEvents.decided(record));
    this.#underWay.add(record.id);
    return { status: 'approved', record };
  }

  #recordOf({
    request,
    bound,
    server,
    idempotencyKey,
    arguments: args,
    meta,
    rule,
  }: AskedCall): ProposedCall {
    const remainingMs = request.remainingMs() ?? Number.POSITIVE_INFINITY;
    // A caller that gives little time hears of the end before its own deadline passes.
    const most = remainingMs - Math.min(1000, remainingMs / 10);
    const createdAt = this.#deps.now();
    const { agent, requestId, role, tool, definitionHash, argumentsHash, metaHash } = bound;
    return {
      id: this.#deps.newId(),
      ...{ agent, requestId, role, tool, definitionHash, argumentsHash },
      ...(metaHash !== undefined && { metaHash }),
      ...(server !== undefined && { server }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      arguments: args,
      ...(meta !== undefined && { meta }),
      rule,
      createdAt,
      deadlineAt: Math.ceil(createdAt + Math.min(this.#deps.policy().deadlineMs, most)),
    };
  }

  async #attach(record: ApprovalRecord, call: AskedCall, minter: string | undefined): Promise<Decision> {
    const reply = record.end && (await this.#deps.replyOf(record));
    if (reply) return { status: 'answered', reply, of: record };
    const refusal = this.#places.refusalToAsk(call.bound, minter);
    if (refusal) return { status: 'refused', error: refusal };
    return await this.#follow(record, call, minter, async () => {
      await this.#open.get(record.id)?.written;
      await this.#deps.store.attach(record.id, call.bound);
    });
  }

  /** Waits for the reply of the call of an approval, for another request. `begin` writes that it does. */
  async #follow(
    record: ApprovalRecord,
    { request, bound, onWait }: AskedCall,
    minter: string | undefined,
    begin?: () => Promise<void>,
  ): Promise<Decision> {
    this.#places.take(bound.agent, minter);
    const over = new AbortController();
    try {
      await begin?.();
      // No reply that comes while the journal is read may be missed.
      const waiting = this.#replies.wait(record.id, AbortSignal.any([request.signal, over.signal]));
      const earlier = decisionOf((await this.find(record.id)) ?? record);
      if (earlier.status === 'refused') return earlier;
      const known = await this.#deps.replyOf(record);
      if (known) return { status: 'answered', reply: known, of: record };
      onWait(record.id);
      tellWaiting(request, record, this.#deps.now());
      if (await this.#isOver(record)) {
        const late = await this.#deps.replyOf(record);
        return late
          ? { status: 'answered', reply: late, of: record }
          : { status: 'refused', error: usedApproval(record) };
      }
      const reply = await waiting;
      if (reply) return { status: 'answered', reply, of: record };
      const error = this.#isClosed ? undefined : endOfFollower(record, request.signal);
      return error ? { status: 'refused', error } : { status: 'handed_back' };
    } finally {
      over.abort();
      this.#places.giveBack(bound.agent);
    }
  }

  async #wait(open: OpenApproval, { request, onWait }: AskedCall): Promise<Decision> {
    if (this.#isClosed) return { status: 'handed_back' };
    this.#underWay.add(open.record.id);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    const handBack = () => resolve({ status: 'handed_back' });
    const { signal } = request;
    const abort = () => void this.#abort(open, signal).then(resolve);
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

  /** Ends a wait whose request was aborted: called off, over, or left to the next process. */
  async #abort(open: OpenApproval, { reason }: AbortSignal): Promise<Decision> {
    const code = reason instanceof SignalboxError ? reason.code : undefined;
    if (code === 'closed') return { status: 'handed_back' };
    const event: ApprovalEvent =
      code === 'timed_out'
        ? { kind: 'expire', requestIsOver: true }
        : { kind: 'cancel', reason: 'its caller called it off' };
    try {
      return decisionOf((await open.end(event)).record);
    } catch (thrown) {
      // The call does not run. Its record is cancelled when the broker says that the request is over.
      this.#logFailure(open.record.requestId, thrown);
      return decisionOf({ ...open.record, end: { state: 'cancelled', endedAt: this.#deps.now() } });
    }
  }

  /** Finds the approval whose reply a call gets: of the same call of the same agent, or of a call with its key, while that waits. */
  #openSameOf({ bound, idempotencyKey, joins }: AskedCall): ApprovalRecord | undefined {
    if (!joins) return undefined;
    for (const { record, isEnding } of this.#open.all()) {
      if (record.agent !== bound.agent || isEnding) continue;
      const isSame =
        idempotencyKey === undefined ? isSameCall(record, bound) : record.idempotencyKey === idempotencyKey;
      if (isSame) return record;
    }
    return undefined;
  }

  /** Reads the approval of a call with the same key that was approved: the call gets the reply of that one, too. */
  async #decidedSameOf({ bound, idempotencyKey, joins }: AskedCall): Promise<ApprovalRecord | undefined> {
    if (!joins || idempotencyKey === undefined) return undefined;
    const earlier = await this.#deps.store.findByKey(bound.agent, idempotencyKey);
    return earlier?.end?.state === 'approved' ? earlier : undefined;
  }

  /** Resolves with whether the call of an approval has ended, so that no reply to it will come. If that can't be found out, it counts as under way. */
  async #isOver({ id, ...record }: ApprovalRecord): Promise<boolean> {
    if (this.#open.get(id) || this.#underWay.has(id)) return false;
    return !(await this.#open.isWanted({ id, ...record }).catch(() => true));
  }

  #logFailure(id: string, thrown: unknown): void {
    this.#deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
  }
}

function decisionOf(record: ApprovalRecord): Decision {
  const error = errorOfEnd(record);
  return error ? { status: 'refused', error } : { status: 'approved', record };
}

function tellWaiting(request: ServedRequest, { id, deadlineAt }: ApprovalRecord, now: number): void {
  request.progress({
    progress: 0,
    message: `waiting for approval ${id} by a person`,
    awaiting_approval: { id, remaining_ms: Math.max(0, deadlineAt - now) },
  });
}
