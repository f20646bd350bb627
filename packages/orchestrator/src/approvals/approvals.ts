import {
  type McpReply,
  messageOf,
  type RequestMeta,
  type Sender,
  type ToolCallError,
} from '@signalbox/protocol';
import type {
  ApprovalQuery,
  ApprovalRecord,
  ApprovalStore,
  CallKey,
  NumberedApproval,
  StandingRecord,
} from '@signalbox/store/journal';
import { errorOfEnd, mayComeAgain, withApproval } from './approval-errors.ts';
import { approvalEvents } from './approval-notices.ts';
import { type ApprovalEvent, type CallerLeft, isQuestion } from './approval-record.ts';
import { AskedCalls, type AskedCallsDeps, keptMs } from './asked-calls.ts';
import { type AnsweredRound, type HidingRules, type ShownArguments, shownArguments } from './call-digests.ts';
import { GivenApprovals, type GivenApprovalsDeps } from './given-approvals.ts';
import {
  type Decided,
  type OpenApproval,
  OpenApprovals,
  type OpenApprovalsDeps,
  type WaitingSummary,
} from './open-approvals.ts';
import { type AskedCall, type Decision, WaitingRequests } from './waiting-requests.ts';
import { type ApprovalLimits, defaultApprovalLimits, WaitingSlots } from './waiting-slots.ts';

/** The dependencies of {@link Approvals}. */
export interface ApprovalsDeps
  extends Omit<OpenApprovalsDeps, 'slots' | 'onEnded' | 'onLeft'>,
    GivenApprovalsDeps,
    AskedCallsDeps {
  store: ApprovalStore;
  /** Reads the reply to a call that has ended, while it is kept. */
  replyOf: (request: CallKey) => Promise<McpReply | undefined>;
  /** Returns the values that no person is shown, and the key of the hashes. */
  hidingRules: () => HidingRules;
  limits?: ApprovalLimits;
}

/**
 * Makes calls wait until somebody decides on them. The record of a call is on the disk before its caller hears that it waits. A decision is
 * on the disk before the call starts or the decider hears of it. A request whose process died finds its record again by its id.
 */
export class Approvals implements Disposable {
  readonly #deps: ApprovalsDeps;
  readonly #open: OpenApprovals;
  readonly #waiting: WaitingRequests;
  readonly #given: GivenApprovals;
  readonly #asked: AskedCalls;
  readonly #unsubscribe: () => void;
  #refreshing: Promise<void> = Promise.resolve();

  private constructor(
    deps: ApprovalsDeps,
    { pending, standing }: { pending: readonly ApprovalRecord[]; standing: readonly StandingRecord[] },
  ) {
    this.#deps = deps;
    const slots = new WaitingSlots(deps.limits ?? defaultApprovalLimits, deps.monotonic);
    const given = new GivenApprovals(deps, standing);
    const onEnded = ({ record, leftAt }: OpenApproval, { isOwn }: { isOwn: boolean }): void => {
      const error = errorOfEnd(record);
      if (error) waiting.refused(record.id, error);
      else if (leftAt !== undefined && isOwn)
        given.addUnspent({ ...record, deadlineAt: deps.now() + keptMs });
    };
    const onLeft = ({ id }: ApprovalRecord): void => waiting.left(id);
    const open = new OpenApprovals({ ...deps, slots, onEnded, onLeft }, pending);
    const waiting = new WaitingRequests({ ...deps, slots, open });
    this.#open = open;
    this.#waiting = waiting;
    this.#given = given;
    this.#asked = new AskedCalls(deps, { open, waiting, given, slots });
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
  of(request: CallKey): Promise<ApprovalRecord | undefined> | undefined {
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
    return { leftAt: this.#open.get(id)?.leftAt, keptUntil: this.#given.keptUntil(id) };
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
  ask(call: AskedCall): Promise<Decision> {
    return this.#asked.ask(call);
  }

  /** Lists the standing approvals in force, oldest first. */
  standing(): StandingRecord[] {
    return this.#given.standing();
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
    if (decided.isDone && standing) this.#given.addStanding(standing);
    // An earlier approval of the same call, which was not sent, does not outlive the word of the one who denies it now.
    if (decided.isDone && event.kind === 'deny') this.#given.dropUnspent(record);
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
  revokeStanding(id: string, asker: Sender): Promise<StandingRecord | undefined> {
    return this.#given.revokeStanding(id, asker);
  }

  /** Ends the standing approvals whose givers can't decide any more. Also resolves if the broker does not say who can. */
  endOrphaned(): Promise<void> {
    return this.#given.endOrphaned();
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
    this.#waiting.answered(record.id, reply);
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
    if (isQuestion(record) || this.#given.isUnspent(record.id)) return error;
    const why = this.#whyUsedUp(record, error);
    if (why === undefined) this.#given.addUnspent(record);
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
      if (!this.#given.isUnspent(record.id)) await this.#deps.store.use(request);
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
    this.#waiting.close();
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#open[Symbol.dispose]();
  }

  /** Reads the changes of other processes. */
  async #refresh(): Promise<void> {
    if (this.#waiting.isClosed) return;
    try {
      const { store } = this.#deps;
      const [pending, standing] = await Promise.all([store.pending(), store.standing()]);
      if (this.#waiting.isClosed) return;
      this.#given.refresh(standing);
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

  #logFailure(id: string, thrown: unknown): void {
    this.#deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
  }
}
