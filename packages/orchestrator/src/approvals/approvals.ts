import {
  type McpReply,
  messageOf,
  type RequestMeta,
  type Sender,
  SignalboxError,
  type ToolCallError,
} from '@signalbox/protocol';
import type {
  ApprovalEnd,
  ApprovalQuery,
  ApprovalRecord,
  ApprovalStore,
  CallKey,
  NumberedApproval,
  ProposedCall,
  StandingRecord,
} from '@signalbox/store/journal';
import { type AbsentCallersDeps, isCallerGone } from './absent-callers.ts';
import { approvalEvents } from './approval-audit.ts';
import {
  callerLeft,
  errorOfEnd,
  mayComeAgain,
  unfitArguments,
  unwrittenApproval,
  usedApproval,
  withApproval,
} from './approval-errors.ts';
import {
  type ApprovalEvent,
  type CallerLeft,
  differenceFrom,
  isQuestion,
  isSameCall,
} from './approval-record.ts';
import type { ApprovalPolicy } from './ask-rules.ts';
import { type AskedCall, type Decision, decisionOf, proposedCall } from './asked-decision.ts';
import { AttachedRequests } from './attached-requests.ts';
import { type AnsweredRound, type HidingRules, type ShownArguments, shownArguments } from './call-digests.ts';
import { DecisionWaits } from './decision-waits.ts';
import type { Decided, OpenApproval } from './open-approval.ts';
import { OpenApprovals, type OpenApprovalsDeps, type WaitingSummary } from './open-approvals.ts';
import { StandingApprovals } from './standing-approvals.ts';
import { endOrphaned, type StandingGiversDeps, standingFor } from './standing-givers.ts';
import { UnspentApprovals } from './unspent-approvals.ts';
import { type ApprovalLimits, defaultApprovalLimits, WaitingPlaces } from './waiting-places.ts';

/** The time for which an approval is kept that was given after its caller had stopped waiting, in milliseconds. */
const keptMs = 3_600_000;

/** The dependencies of {@link Approvals}. */
export interface ApprovalsDeps
  extends Omit<OpenApprovalsDeps, 'places' | 'onEnded' | 'onLeft'>,
    StandingGiversDeps,
    AbsentCallersDeps {
  store: ApprovalStore;
  policy: () => ApprovalPolicy;
  /** Reads the reply to a call that has ended, while it is kept. */
  replyOf: (request: CallKey) => Promise<McpReply | undefined>;
  /** Sends a note of a waiting call to the agents and groups that the policy names. */
  notify: (record: ApprovalRecord) => void;
  /** Returns the minting token that issued the token of an agent. */
  minterOf: (agent: string) => Promise<string | undefined>;
  newId: () => string;
  /** Returns the values that no person is shown, and the key of the hashes. */
  hidingRules: () => HidingRules;
  limits?: ApprovalLimits;
}

/**
 * Makes calls wait until somebody decides on them. The record of a call is on the disk before its caller hears that it waits. A decision is
 * on the disk before the call starts or the decider hears of it. A request whose process died finds its record again by its id.
 */
export class Approvals implements Disposable {
  /** The standing approvals. */
  readonly standing: StandingApprovals;
  readonly #deps: ApprovalsDeps;
  readonly #places: WaitingPlaces;
  readonly #open: OpenApprovals;
  readonly #waits: DecisionWaits;
  readonly #attached: AttachedRequests;
  readonly #unspent = new UnspentApprovals();
  #isClosed = false;
  readonly #unsubscribe: () => void;
  #refreshing: Promise<void> = Promise.resolve();

  private constructor(
    deps: ApprovalsDeps,
    { pending, standing }: { pending: readonly ApprovalRecord[]; standing: readonly StandingRecord[] },
  ) {
    this.#deps = deps;
    const places = new WaitingPlaces(deps.limits ?? defaultApprovalLimits, deps.monotonic);
    this.#places = places;
    this.standing = new StandingApprovals(deps.store, standing, deps.now, deps.monotonic);
    const onEnded = ({ record, leftAt }: OpenApproval, { isOwn }: { isOwn: boolean }): void => {
      const error = errorOfEnd(record);
      if (error) this.#attached.refused(record.id, error);
      else if (leftAt !== undefined && isOwn)
        this.#unspent.add({ ...record, deadlineAt: deps.now() + keptMs });
    };
    const onLeft = ({ id }: ApprovalRecord): void => this.#attached.left(id);
    this.#open = new OpenApprovals({ ...deps, places, onEnded, onLeft }, pending);
    this.#attached = new AttachedRequests({ ...deps, places, open: this.#open });
    this.#waits = new DecisionWaits({ ...deps, leave: (open) => this.#open.leave(open) });
    this.#unsubscribe = deps.store.onChanged(() => {
      this.#refreshing = this.#refreshing.then(() => this.#refresh());
    });
  }

  /** Reads the store's records, and continues with them. */
  static async open(deps: ApprovalsDeps): Promise<Approvals> {
    const [pending, standing] = await Promise.all([deps.store.pending(), deps.store.standing()]);
    return new Approvals(deps, { pending, standing });
  }

  /** Returns a hash of the present definition of a tool; `undefined` if no tool has this name now. */
  definitionHash(tool: string): string | undefined {
    return this.#deps.definitionHash(tool);
  }

  /** Returns the arguments of a call in the form in which those who decide see them, or the reason why they can't be shown. */
  shown(
    args: Readonly<Record<string, unknown>>,
    round?: AnsweredRound,
    meta?: RequestMeta,
  ): ShownArguments | { problem: string } {
    return shownArguments(args, this.#deps.hidingRules(), round, meta);
  }

  /** Reads the approval of a request, if it had to wait before. */
  of(request: CallKey): Promise<ApprovalRecord | undefined> {
    return this.#deps.store.of(request);
  }

  /** Reads the approval with this id. */
  find(id: string): Promise<ApprovalRecord | undefined> {
    return this.#open.find(id);
  }

  /** Lists the approvals that have not ended, newest first. */
  pending(): ApprovalRecord[] {
    return Array.from(this.#open.all(), ({ record }) => record).reverse();
  }

  /** Tells whether the caller of an approval waits no longer, and how long the approval is kept for its next call. */
  callerLeft(id: string): CallerLeft {
    return { leftAt: this.#open.get(id)?.leftAt, keptUntil: this.#unspent.keptUntil(id, this.#deps.now()) };
  }

  /** Counts the calls that wait for a decision. */
  summary(): WaitingSummary {
    return this.#open.summary();
  }

  /** Lists approvals, also those that have ended, newest first. */
  list(query: ApprovalQuery): Promise<NumberedApproval[]> {
    return this.#deps.store.list(query);
  }

  /** Waits until somebody decides on the call, or it ends otherwise. No part of it runs meanwhile. Never rejects. */
  async ask(asked: AskedCall): Promise<Decision> {
    const { bound, onWait } = asked;
    let hasWaited = false;
    const call: AskedCall = {
      ...asked,
      onWait: (id) => {
        hasWaited = true;
        onWait(id);
      },
    };
    try {
      const minter = await this.#deps.minterOf(bound.agent);
      const standing = asked.mayStand ? await standingFor(this.standing, bound, this.#deps) : undefined;
      const known = await this.#deps.store.of(bound);
      this.#places.belongs(bound.agent, minter);
      const decision = known
        ? await this.#resume(known, call, minter, standing)
        : await this.#propose(call, minter, standing);
      return decision.status === 'approved' && (known || hasWaited)
        ? await this.#unlessGone(decision, call)
        : decision;
    } catch (thrown) {
      this.#logFailure(bound.requestId, thrown);
      const isFull = thrown instanceof SignalboxError && thrown.code === 'journal_full';
      return { status: 'refused', error: unwrittenApproval(isFull, messageOf(thrown)) };
    }
  }

  /**
   * Applies a decision, if it changes anything. `standing` takes effect together with it. Rejects if it can't be written; then the call
   * continues to wait.
   */
  async decide(
    id: string,
    event: ApprovalEvent & { kind: 'approve' | 'deny' },
    standing?: StandingRecord,
  ): Promise<Decided | undefined> {
    const record = await this.#open.find(id);
    if (!record || record.end) return record && { record, isDone: false };
    const open = await this.#open.join(record);
    const decided = await this.#open.decide(open, event, standing);
    if (decided.isDone && standing) this.standing.add(standing);
    // An earlier approval of the same call, which was not sent, does not outlive the word of the one who denies it now.
    if (decided.isDone && event.kind === 'deny') this.#unspent.drop(record);
    return decided;
  }

  /**
   * Ends the approval of a waiting call, because the call is cancelled. Resolves with false if it has ended otherwise. Rejects if that
   * can't be written.
   */
  async cancel(id: string, reason: string): Promise<boolean> {
    const ended = await this.#open.get(id)?.end({ kind: 'cancel', reason });
    return ended?.isDone ?? false;
  }

  /** Ends the approval of a waiting call, because its caller asks about another one in its place. Never rejects. */
  async supersede(request: CallKey, reason: string): Promise<void> {
    const record = await this.#recordOfRequest(request);
    try {
      await (record && this.#open.get(record.id)?.end({ kind: 'supersede', reason }));
    } catch (thrown) {
      this.#logFailure(request.requestId, thrown);
    }
  }

  /** Ends a standing approval. Resolves with it when its end is on the disk, or with `undefined` if there is none with this id. */
  async revokeStanding(id: string, asker: Sender): Promise<StandingRecord | undefined> {
    const standing = await this.standing.revoke(id);
    if (standing) this.#deps.audit.record(approvalEvents.standingRevoked(standing, asker));
    return standing;
  }

  /** Ends the standing approvals whose givers can't decide any more. Also resolves if the broker does not say who can. */
  async endOrphaned(): Promise<void> {
    await endOrphaned(this.standing, this.#deps);
  }

  /**
   * Returns the reason why an approved call may not start: its tool, or its arguments if their hash is given, differ from the approved
   * ones. Returns `undefined` if they do not.
   */
  refusalToStart(record: ApprovalRecord, argumentsHash?: string): ToolCallError | undefined {
    const reason = this.#open.changeOf(record, argumentsHash);
    if (reason === undefined) return undefined;
    return errorOfEnd({ ...record, end: { state: 'superseded', endedAt: this.#deps.now(), reason } });
  }

  /** Reports that an approved call starts now. */
  started(record: ApprovalRecord): void {
    this.#deps.fault('orchestrator.approval.starting');
    this.#deps.audit.record(approvalEvents.started(record));
  }

  /** Reports that the reply to a call that waited is stored, or was refused. */
  async delivered(request: CallKey, how: 'stored' | 'waits' | 'refused'): Promise<void> {
    const record = await this.#recordOfRequest(request);
    if (record) this.#deps.audit.record(approvalEvents.answered({ ...record, ...request }, how));
  }

  /** Gives the reply to an approval's call to the attached requests. The reply is in the journal already. */
  async answered(request: CallKey, reply: McpReply): Promise<void> {
    const record = await this.#recordOfRequest(request);
    if (record?.requestId !== request.requestId) return;
    this.#attached.answered(record.id, reply);
  }

  /**
   * Notes that a call has ended with an error that says that it did not run. If that may pass, its approval holds for the same call once
   * more. Returns the error with what became of the approval.
   */
  async unsent(request: CallKey, error: ToolCallError): Promise<ToolCallError> {
    const record = await this.#recordOfRequest(request);
    const { state, by } = record?.end ?? {};
    if (record?.requestId !== request.requestId || state !== 'approved') return error;
    // The error itself says that a new call asks anew, a standing approval goes on to hold, or each question asks anew.
    if (error.code.startsWith('approval_') || by?.standing !== undefined) return error;
    if (isQuestion(record) || this.#unspent.has(record.id)) return error;
    const why = this.#whyUsedUp(record, error);
    if (why === undefined) this.#unspent.add(record);
    return withApproval(error, record, why);
  }

  #whyUsedUp({ isUsed, deadlineAt }: ApprovalRecord, error: ToolCallError): string | undefined {
    if (isUsed) return 'the start of the call was written down already';
    if (!mayComeAgain(error)) return 'it held for this call alone, which has ended';
    return deadlineAt <= this.#deps.now() ? 'its time is over' : undefined;
  }

  /**
   * Notes that a call that waited has ended. If its request comes again, the same approval does not let it run, unless it was not sent and
   * may be made again. An approval on which nobody has decided ends, too, unless only its caller waits no longer: the call ended for another
   * reason.
   */
  async ended(request: CallKey): Promise<void> {
    const record = await this.#recordOfRequest(request);
    if (!record || this.#open.get(record.id)?.leftAt !== undefined) return;
    try {
      if (!this.#unspent.has(record.id)) await this.#deps.store.use(request);
      if (record.requestId === request.requestId)
        await this.#open.get(record.id)?.end({ kind: 'cancel', reason: 'its call has ended' });
    } catch (thrown) {
      this.#logFailure(request.requestId, thrown);
    }
  }

  /** Ends the approvals of calls whose tools have changed. */
  definitionsChanged(): void {
    this.#open.definitionsChanged();
  }

  /** Hands back the waiting calls: their records stay, and the next process on this inbox continues with them. */
  close(): void {
    this.#isClosed = true;
    this.#waits.close();
    this.#attached.close();
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#open[Symbol.dispose]();
  }

  /** Reads the changes of other processes. */
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

  /** Reads the approval of a request that was answered. If it can't be read, nothing is reported. */
  async #recordOfRequest(request: CallKey): Promise<ApprovalRecord | undefined> {
    try {
      return await this.#deps.store.of(request);
    } catch (thrown) {
      this.#logFailure(request.requestId, thrown);
      return undefined;
    }
  }

  /** Keeps an approval for the next same call if its caller is gone and was not told that the call goes on without it. */
  async #unlessGone(
    approved: Extract<Decision, { status: 'approved' }>,
    { bound, request, isKept }: AskedCall,
  ): Promise<Decision> {
    if (isKept()) return approved;
    const isGone = await isCallerGone(this.#deps, bound, request.signal);
    if (isGone === false || isKept()) return approved;
    if (this.#isClosed) return { status: 'handed_back' };
    const { record } = approved;
    this.#unspent.add({ ...record, deadlineAt: this.#deps.now() + keptMs });
    this.#attached.left(record.id);
    return { status: 'refused', error: callerLeft(record) };
  }

  /** Continues with a request that came again. */
  async #resume(
    read: ApprovalRecord,
    call: AskedCall,
    minter: string | undefined,
    allowed: StandingRecord | undefined,
  ): Promise<Decision> {
    if (read.requestId !== call.bound.requestId) {
      // The call to which it was attached is not made.
      const { leftAt, keptUntil } = this.callerLeft(read.id);
      if (leftAt !== undefined || keptUntil !== undefined) return await this.#propose(call, minter, allowed);
      return (await this.#attached.follow(read, call, minter)) ?? (await this.ask(call));
    }
    const open = read.end ? undefined : await this.#open.join(read);
    const record = open?.record ?? read;
    const reason = differenceFrom(record, call.bound);
    if (reason === undefined && open && !record.end) return await this.#wait(open, call);
    if (reason === undefined) {
      if (record.isUsed && record.end?.state === 'approved')
        return { status: 'refused', error: usedApproval(record) };
      this.#attached.begins(record.id);
      this.#unspent.forget(record.id);
      return decisionOf(record);
    }
    const ended = open ? (await open.end({ kind: 'supersede', reason })).record : record;
    const end = ended.end && ended.end.state !== 'approved' ? ended.end : undefined;
    return decisionOf({
      ...record,
      end: end ?? { state: 'superseded', endedAt: this.#deps.now(), reason },
    });
  }

  async #propose(
    call: AskedCall,
    minter: string | undefined,
    allowed: StandingRecord | undefined,
  ): Promise<Decision> {
    const { bound, idempotencyKey } = call;
    const unspent = await this.#takeUnspent(call);
    if (unspent) return await this.#useAgain(unspent, call);
    const decided = await this.#attached.decidedSameOf(call);
    // Nothing is awaited from here to the new record: of two identical calls, the second finds the first.
    const same = this.#attached.openSameOf(call) ?? decided;
    if (same && !isSameCall(same, bound)) {
      const why = `has the idempotency_key '${idempotencyKey}' of another call`;
      return { status: 'refused', error: unfitArguments(why) };
    }
    const left = same && this.#open.get(same.id);
    if (left?.leftAt !== undefined) return await this.#proposeInPlaceOf(left, call, { minter, allowed });
    if (same) return (await this.#attached.attach(same, call, minter)) ?? (await this.ask(call));
    const standing = this.standing.for(bound);
    if (standing && standing.id === allowed?.id) return await this.#passBy(standing, call);
    const refusal = this.#places.refusalToAsk(bound, minter);
    if (refusal) return { status: 'refused', error: refusal };
    const record = this.#newRecord(call);
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

  /**
   * Asks about a call in place of the same one, whose caller waits no longer: the record that people see is that of the call that waits. If
   * somebody decides at the same time, the decision holds for the new call.
   */
  async #proposeInPlaceOf(
    left: OpenApproval,
    call: AskedCall,
    { minter, allowed }: { minter: string | undefined; allowed: StandingRecord | undefined },
  ): Promise<Decision> {
    const reason = 'the same call was made again, and waits in its place';
    const { record, isDone } = await left.end({ kind: 'cancel', reason });
    if (isDone || record.end?.state === 'approved') return await this.#propose(call, minter, allowed);
    return decisionOf(record);
  }

  /** Lets a call run at once because of a standing approval, which its record names. */
  async #passBy(standing: StandingRecord, call: AskedCall): Promise<Decision> {
    const proposed = this.#newRecord(call);
    const by = { ...standing.by, standing: standing.id };
    return await this.#pass(proposed, { state: 'approved', endedAt: proposed.createdAt, by });
  }

  /** Takes the approval of an equal call that was not sent, if the token of its giver may still decide. */
  async #takeUnspent({ bound, idempotencyKey, joins }: AskedCall): Promise<ApprovalRecord | undefined> {
    const unspent = joins ? this.#unspent.take(bound, idempotencyKey, this.#deps.now()) : undefined;
    const by = unspent?.end?.by;
    if (!by) return undefined;
    try {
      const [mayDecide] = await this.#deps.mayDecide([{ tokenId: by.tokenId, role: bound.role }]);
      return mayDecide ? unspent : undefined;
    } catch (thrown) {
      // A person is asked instead.
      this.#deps.log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
      return undefined;
    }
  }

  /** Lets a call run at once because of an approval whose call was not sent. Its record takes the place of the earlier one. */
  async #useAgain(earlier: ApprovalRecord, call: AskedCall): Promise<Decision> {
    const { id, requestId, deadlineAt, end } = earlier;
    const proposed = this.#newRecord(call);
    const reason = `in place of approval ${id}, whose call of request ${requestId} was not sent`;
    try {
      return await this.#pass(
        { ...proposed, deadlineAt },
        { ...end, state: 'approved', endedAt: proposed.createdAt, reason },
        id,
      );
    } catch (thrown) {
      this.#unspent.add(earlier);
      throw thrown;
    }
  }

  /** Writes the record of a call that is approved already. `instead` is the id of an approval that it replaces. */
  async #pass(proposed: ProposedCall, end: ApprovalEnd, instead?: string): Promise<Decision> {
    const record: ApprovalRecord = { ...proposed, end };
    await this.#deps.store.propose(proposed, end, instead);
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.audit.record(approvalEvents.decided(record));
    this.#attached.begins(record.id);
    return { status: 'approved', record };
  }

  #newRecord(call: AskedCall): ProposedCall {
    const { newId, now, policy } = this.#deps;
    return proposedCall(call, { id: newId(), createdAt: now(), deadlineMs: policy().deadlineMs });
  }

  async #wait(open: OpenApproval, call: AskedCall): Promise<Decision> {
    this.#attached.begins(open.record.id);
    return await this.#waits.wait(open, call);
  }

  #logFailure(id: string, thrown: unknown): void {
    this.#deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
  }
}
