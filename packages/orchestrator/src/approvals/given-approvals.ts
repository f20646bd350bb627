import type { Log } from '@signalbox/client';
import { messageOf, type Sender } from '@signalbox/protocol';
import type { ApprovalRecord, ApprovalStore, BoundCall, StandingRecord } from '@signalbox/store/journal';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { approvalEvents } from './approval-notices.ts';
import { isSameCall } from './approval-record.ts';

/** The dependencies of {@link GivenApprovals}. */
export interface GivenApprovalsDeps {
  store: Pick<ApprovalStore, 'standing' | 'removeStanding'>;
  /** Asks whether tokens are valid and may decide on tool calls of a role. The answers have the order of the questions. */
  mayDecide: (deciders: readonly { tokenId: string; role: string }[]) => Promise<boolean[]>;
  audit: Pick<AuditTrail, 'record'>;
  /** Epoch milliseconds. */
  now: () => number;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

/**
 * The approvals that let calls run without asking anybody.
 *
 * Standing approvals hold for every call of an agent, role, tool and definition until their time is over or their giver can't decide any
 * more. A wall clock that is set back does not prolong one in this process.
 *
 * Unspent approvals let no call run: the call ended before it was sent, or its caller waited no longer. The same call of the same agent may
 * use each of them once until its deadline. Only the process that saw the end knows of them: any other one can't know whether a call was
 * sent since.
 */
export class GivenApprovals {
  readonly #deps: GivenApprovalsDeps;
  readonly #standing = new Map<string, StandingRecord>();
  /** The latest time at which each standing approval ends, in monotonic milliseconds. */
  readonly #endsAt = new Map<string, number>();
  readonly #unspent = new Map<string, ApprovalRecord>();

  /** `standing` are the store's records. */
  constructor(deps: GivenApprovalsDeps, standing: readonly StandingRecord[]) {
    this.#deps = deps;
    for (const one of standing) this.#remember(one);
  }

  /** Lists the standing approvals in force, oldest first. */
  standing(): StandingRecord[] {
    return [...this.#standing.values()].filter((one) => !this.#isOver(one));
  }

  /** Adds a standing approval that has been written, and forgets those whose time is over. */
  addStanding(standing: StandingRecord): void {
    this.#remember(standing);
    for (const known of this.#standing.values()) {
      if (!this.#isOver(known)) continue;
      const { id } = known;
      this.#forget(id);
      // If this fails, the standing approval is still over. It is removed later.
      this.#deps.store.removeStanding(id).catch(() => {});
    }
  }

  /** Takes over the store's present standing approvals: other processes may have added and removed some. */
  refresh(stored: readonly StandingRecord[]): void {
    const ids = new Set(stored.map(({ id }) => id));
    for (const id of [...this.#standing.keys()]) if (!ids.has(id)) this.#forget(id);
    for (const one of stored) if (!this.#standing.has(one.id)) this.#remember(one);
  }

  /** Returns a standing approval that lets a call run: one for the same agent, role, tool and definition. */
  standingFor({ agent, role, tool, definitionHash }: BoundCall): StandingRecord | undefined {
    return this.standing().find(
      (one) =>
        one.agent === agent &&
        one.role === role &&
        one.tool === tool &&
        one.definitionHash === definitionHash,
    );
  }

  /** Returns a standing approval that lets a call run, if the token of its giver may still decide. */
  async validStandingFor(bound: BoundCall): Promise<StandingRecord | undefined> {
    for (;;) {
      if (!this.standingFor(bound)) return undefined;
      // Another process may have revoked it.
      this.refresh(await this.#deps.store.standing());
      const found = this.standingFor(bound);
      if (!found) return undefined;
      const decide = await this.#canDecide([found]);
      if (decide?.[0]) return found;
      // If the broker does not answer, the call asks a person, and the standing approval stays.
      if (!decide) return undefined;
      await this.#endOrphan(found);
    }
  }

  /** Ends a standing approval. Resolves with it when its end is on the disk, or with `undefined` if there is none with this id. */
  async revokeStanding(id: string, asker: Sender): Promise<StandingRecord | undefined> {
    const standing = await this.#remove(id);
    if (standing) this.#deps.audit.record(approvalEvents.standingRevoked(standing, asker));
    return standing;
  }

  /** Ends the standing approvals whose givers can't decide any more. Also resolves if the broker does not say who can. */
  async endOrphaned(): Promise<void> {
    const all = this.standing();
    const decide = await this.#canDecide(all);
    for (const [i, one] of all.entries()) if (decide?.[i] === false) await this.#endOrphan(one);
  }

  /** Keeps an approval that let no call run. */
  addUnspent(record: ApprovalRecord): void {
    this.#unspent.set(record.id, record);
  }

  isUnspent(id: string): boolean {
    return this.#unspent.has(id);
  }

  /** Returns the time until which an unspent approval is kept, in epoch milliseconds; `undefined` if it is not. */
  keptUntil(id: string): number | undefined {
    const until = this.#unspent.get(id)?.deadlineAt;
    return until === undefined || until <= this.#deps.now() ? undefined : until;
  }

  /** Forgets an unspent approval, because its own call uses it. */
  forgetUnspent(id: string): void {
    this.#unspent.delete(id);
  }

  /** Forgets the unspent approvals of the same call of the same agent, since somebody has denied it. */
  dropUnspent(call: BoundCall): void {
    for (const record of this.#unspent.values())
      if (record.agent === call.agent && isSameCall(record, call)) this.#unspent.delete(record.id);
  }

  /** Takes out the unspent approval that a call may use now, so that no other call gets it. */
  takeUnspent(call: BoundCall, idempotencyKey: string | undefined): ApprovalRecord | undefined {
    for (const record of this.#unspent.values()) {
      const isOver = record.deadlineAt <= this.#deps.now();
      // A person has approved the data beside the arguments, too.
      const isOfCall =
        record.agent === call.agent && isSameCall(record, call) && record.metaHash === call.metaHash;
      const isFound = !isOver && isOfCall && record.idempotencyKey === idempotencyKey;
      if (isOver || isFound) this.#unspent.delete(record.id);
      if (isFound) return record;
    }
    return undefined;
  }

  /** Takes out an unspent approval as {@link takeUnspent} does, if the token of its giver may still decide. */
  async takeValidUnspent(
    call: BoundCall,
    idempotencyKey: string | undefined,
  ): Promise<ApprovalRecord | undefined> {
    const unspent = this.takeUnspent(call, idempotencyKey);
    const by = unspent?.end?.by;
    if (!by) return undefined;
    // If the broker does not answer, a person is asked instead.
    const decide = await this.#canDecide([{ by, role: call.role }]);
    return decide?.[0] ? unspent : undefined;
  }

  /** Asks the broker who may decide. Resolves with `undefined` if it does not say. */
  async #canDecide(given: readonly Pick<StandingRecord, 'by' | 'role'>[]): Promise<boolean[] | undefined> {
    if (given.length === 0) return [];
    try {
      return await this.#deps.mayDecide(given.map(({ by, role }) => ({ tokenId: by.tokenId, role })));
    } catch (thrown) {
      this.#deps.log({ event: 'tokens_not_checked', reason: messageOf(thrown) });
      return undefined;
    }
  }

  async #endOrphan({ id }: StandingRecord): Promise<void> {
    const ended = await this.#remove(id);
    if (ended) this.#deps.audit.record(approvalEvents.standingEnded(ended));
  }

  async #remove(id: string): Promise<StandingRecord | undefined> {
    const standing = this.#standing.get(id);
    if (!standing) return undefined;
    await this.#deps.store.removeStanding(id);
    this.#forget(id);
    return standing;
  }

  #remember(standing: StandingRecord): void {
    const { id, until, createdAt } = standing;
    const { now, monotonic } = this.#deps;
    this.#standing.set(id, standing);
    this.#endsAt.set(id, monotonic() + Math.min(until - now(), until - createdAt));
  }

  #forget(id: string): void {
    this.#standing.delete(id);
    this.#endsAt.delete(id);
  }

  #isOver({ id, until }: StandingRecord): boolean {
    return until <= this.#deps.now() || this.#endsAt.get(id)! <= this.#deps.monotonic();
  }
}
