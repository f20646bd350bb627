import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type {
  ApprovalEnd,
  ApprovalRecord,
  ApprovalStore,
  CallKey,
  ProposedCall,
  StandingRecord,
} from '@signalbox/store/journal';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { callerLeft, unfitArguments, unwrittenApproval, usedApproval } from './approval-errors.ts';
import { approvalEvents } from './approval-notices.ts';
import { differenceFrom, isSameCall } from './approval-record.ts';
import type { ApprovalPolicy } from './ask-rules.ts';
import type { GivenApprovals } from './given-approvals.ts';
import type { OpenApproval, OpenApprovals } from './open-approvals.ts';
import { type AskedCall, type Decision, decisionOf, type WaitingRequests } from './waiting-requests.ts';
import type { WaitingSlots } from './waiting-slots.ts';

/** The time for which an approval is kept that was given after its caller had stopped waiting, in milliseconds. */
export const keptMs = 3_600_000;

/** The time in which a caller whose connection is lost comes back, in milliseconds. A worker tries every two seconds at least. */
const comesBackWithinMs = 10_000;
/** The pause between two questions about a caller, in milliseconds. */
const askAgainMs = 250;

/** The dependencies of {@link AskedCalls}. */
export interface AskedCallsDeps extends AbsentCallersDeps {
  store: Pick<ApprovalStore, 'of' | 'propose'>;
  policy: () => ApprovalPolicy;
  /** Sends a note of a waiting call to the agents and groups that the policy names. */
  notify: (record: ApprovalRecord) => void;
  /** Returns the minting token that issued the token of an agent. */
  minterOf: (agent: string) => Promise<string | undefined>;
  newId: () => string;
  audit: Pick<AuditTrail, 'record'>;
  fault: Fault;
  /** Epoch milliseconds. */
  now: () => number;
}

/** The state that calls are asked about with. */
interface AskedCallsParts {
  open: OpenApprovals;
  waiting: WaitingRequests;
  given: GivenApprovals;
  slots: WaitingSlots;
}

/** Finds for each call that has to wait what it waits for: a person, an earlier call, or nothing, as an approval was given already. */
export class AskedCalls {
  readonly #deps: AskedCallsDeps;
  readonly #open: OpenApprovals;
  readonly #waiting: WaitingRequests;
  readonly #given: GivenApprovals;
  readonly #slots: WaitingSlots;

  constructor(deps: AskedCallsDeps, { open, waiting, given, slots }: AskedCallsParts) {
    this.#deps = deps;
    this.#open = open;
    this.#waiting = waiting;
    this.#given = given;
    this.#slots = slots;
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
      const standing = asked.mayStand ? await this.#given.validStandingFor(bound) : undefined;
      const known = await this.#deps.store.of(bound);
      this.#slots.belongs(bound.agent, minter);
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

  /** Keeps an approval for the next same call if its caller is gone and was not told that the call goes on without it. */
  async #unlessGone(
    approved: Extract<Decision, { status: 'approved' }>,
    { bound, request, isKept }: AskedCall,
  ): Promise<Decision> {
    if (isKept()) return approved;
    const isGone = await isCallerGone(this.#deps, bound, request.signal);
    if (isGone === false || isKept()) return approved;
    if (this.#waiting.isClosed) return { status: 'handed_back' };
    const { record } = approved;
    this.#given.addUnspent({ ...record, deadlineAt: this.#deps.now() + keptMs });
    this.#waiting.left(record.id);
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
      const isLeft = this.#open.get(read.id)?.leftAt !== undefined;
      if (isLeft || this.#given.keptUntil(read.id) !== undefined)
        return await this.#propose(call, minter, allowed);
      return (await this.#waiting.follow(read, call, minter)) ?? (await this.ask(call));
    }
    const open = read.end ? undefined : await this.#open.join(read);
    const record = open?.record ?? read;
    const reason = differenceFrom(record, call.bound);
    if (reason === undefined && open && !record.end) return await this.#waiting.wait(open, call);
    if (reason === undefined) {
      if (record.isUsed && record.end?.state === 'approved')
        return { status: 'refused', error: usedApproval(record) };
      this.#waiting.begins(record.id);
      this.#given.forgetUnspent(record.id);
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
    const unspent = call.joins ? await this.#given.takeValidUnspent(bound, idempotencyKey) : undefined;
    if (unspent) return await this.#useAgain(unspent, call);
    const decided = await this.#waiting.decidedSameOf(call);
    // Nothing is awaited from here to the new record: of two identical calls, the second finds the first.
    const same = this.#waiting.openSameOf(call) ?? decided;
    if (same && !isSameCall(same, bound)) {
      const why = `has the idempotency_key '${idempotencyKey}' of another call`;
      return { status: 'refused', error: unfitArguments(why) };
    }
    const left = same && this.#open.get(same.id);
    if (left?.leftAt !== undefined) return await this.#proposeInPlaceOf(left, call, { minter, allowed });
    if (same) return (await this.#waiting.attach(same, call, minter)) ?? (await this.ask(call));
    const standing = this.#given.standingFor(bound);
    if (standing && standing.id === allowed?.id) return await this.#passBy(standing, call);
    const refusal = this.#slots.refusalToAsk(bound, minter);
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
    return await this.#waiting.wait(open, call);
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
      this.#given.addUnspent(earlier);
      throw thrown;
    }
  }

  /** Writes the record of a call that is approved already. `instead` is the id of an approval that it replaces. */
  async #pass(proposed: ProposedCall, end: ApprovalEnd, instead?: string): Promise<Decision> {
    const record: ApprovalRecord = { ...proposed, end };
    await this.#deps.store.propose(proposed, end, instead);
    this.#deps.audit.record(approvalEvents.proposed(record));
    this.#deps.audit.record(approvalEvents.decided(record));
    this.#waiting.begins(record.id);
    return { status: 'approved', record };
  }

  #newRecord(call: AskedCall): ProposedCall {
    const { newId, now, policy } = this.#deps;
    return proposedCall(call, { id: newId(), createdAt: now(), deadlineMs: policy().deadlineMs });
  }

  #logFailure(id: string, thrown: unknown): void {
    this.#deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
  }
}

/** Makes the record of a call that begins to wait at `createdAt` (epoch milliseconds), for `deadlineMs` at most. */
function proposedCall(
  { request, bound, server, idempotencyKey, shown, rule }: AskedCall,
  { id, createdAt, deadlineMs }: { id: string; createdAt: number; deadlineMs: number },
): ProposedCall {
  const remainingMs = request.remainingMs() ?? Number.POSITIVE_INFINITY;
  // A caller with little time hears of the end before its own deadline passes.
  const most = remainingMs - Math.min(1000, remainingMs / 10);
  const { agent, requestId, role, tool, definitionHash, argumentsHash, metaHash } = bound;
  return {
    id,
    ...{ agent, requestId, role, tool, definitionHash, argumentsHash },
    ...(metaHash !== undefined && { metaHash }),
    ...(server !== undefined && { server }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    arguments: shown.text,
    ...(shown.meta && { meta: shown.meta.text }),
    hidden: shown.hidden,
    rule,
    createdAt,
    deadlineAt: Math.ceil(createdAt + Math.min(deadlineMs, most)),
  };
}

/** The dependencies of {@link isCallerGone}. */
interface AbsentCallersDeps {
  client: Pick<BrokerClient, 'find'>;
  /** The time in which a caller whose connection is lost comes back, in milliseconds; default 10 s. */
  comesBackWithinMs?: number;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

/**
 * Tells whether the process that waits for a request is gone: it does not hold the inbox for its replies, and does not take it back in time.
 * Resolves with `undefined` if `signal` aborts first.
 */
export async function isCallerGone(
  deps: AbsentCallersDeps,
  { agent, requestId: id }: CallKey,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const until = deps.monotonic() + (deps.comesBackWithinMs ?? comesBackWithinMs);
  while (!signal.aborted) {
    try {
      const [state] = await deps.client.find([{ agent, id, with_sender: true }]);
      if (state !== 'orphaned') return false;
      if (deps.monotonic() >= until) return true;
    } catch (thrown) {
      deps.log({ event: 'requests_not_checked', reason: messageOf(thrown) });
    }
    await delay(askAgainMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}
