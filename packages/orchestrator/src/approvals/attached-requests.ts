import type { McpReply, ToolCallError } from '@signalbox/protocol';
import type { ApprovalRecord, ApprovalStore, CallKey } from '@signalbox/store/journal';
import { endOfFollower, errorOfEnd, mayComeAgain, usedApproval } from './approval-errors.ts';
import { isSameCall } from './approval-record.ts';
import { type AskedCall, type Decision, tellWaiting } from './asked-decision.ts';
import { AwaitedReplies } from './awaited-replies.ts';
import type { OpenApprovals } from './open-approvals.ts';
import type { WaitingPlaces } from './waiting-places.ts';

/** The dependencies of {@link AttachedRequests}. */
export interface AttachedRequestsDeps {
  store: Pick<ApprovalStore, 'attach' | 'findByKey'>;
  open: Pick<OpenApprovals, 'get' | 'all' | 'find' | 'isWanted'>;
  places: WaitingPlaces;
  /** Reads the reply to a call that has ended, while it is kept. */
  replyOf: (request: CallKey) => Promise<McpReply | undefined>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Gives requests the reply to an earlier identical call of their agent. */
export class AttachedRequests {
  readonly #deps: AttachedRequestsDeps;
  readonly #replies = new AwaitedReplies();
  /** The approvals whose requests this process has, and which have no reply yet. */
  readonly #underWay = new Set<string>();
  #isClosed = false;

  constructor(deps: AttachedRequestsDeps) {
    this.#deps = deps;
  }

  /** Notes that this process makes the call of an approval, so that the reply will come here. */
  begins(approval: string): void {
    this.#underWay.add(approval);
  }

  /** Gives the reply to the call of an approval to the requests that are attached to it. */
  answered(approval: string, reply: McpReply): void {
    this.#underWay.delete(approval);
    this.#replies.answered(approval, reply);
  }

  /** Gives the attached requests the error of an approval that was not given. They still wait, although its own request may be gone. */
  refused(approval: string, error: ToolCallError): void {
    this.#replies.answered(approval, { error });
  }

  /** Tells the attached requests that the caller of their call waits no longer, so that the call is not made. */
  left(approval: string): void {
    this.#replies.answered(approval, 'left');
  }

  /** Hands back the waiting requests. */
  close(): void {
    this.#isClosed = true;
    this.#replies.close();
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
    const refusal = this.#deps.places.refusalToAsk(call.bound, minter);
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
    const { places, open, replyOf, now } = this.#deps;
    places.take(bound.agent, minter);
    const over = new AbortController();
    try {
      await begin?.();
      // The wait begins first, so that no reply is missed while the journal is read.
      const waiting = this.#replies.wait(record.id, AbortSignal.any([request.signal, over.signal]));
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
      places.giveBack(bound.agent);
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
}
