import type { ApprovalRecord, BoundCall } from '@signalbox/store/journal';
import { isSameCall } from './approval-record.ts';

/**
 * The approvals that were given and let no call run: the call ended before it was sent, or its caller waited no longer. The same call of the
 * same agent may use each of them once until its deadline. Only the process that saw the end knows of them: any other one can't know
 * whether a call was sent since.
 */
export class UnspentApprovals {
  readonly #known = new Map<string, ApprovalRecord>();

  add(record: ApprovalRecord): void {
    this.#known.set(record.id, record);
  }

  has(id: string): boolean {
    return this.#known.has(id);
  }

  /** Returns the time until which an approval is kept at `now`, both in epoch milliseconds; `undefined` if it is not. */
  keptUntil(id: string, now: number): number | undefined {
    const until = this.#known.get(id)?.deadlineAt;
    return until === undefined || until <= now ? undefined : until;
  }

  /** Forgets one approval, because its own call uses it. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Forgets the approvals of the same call of the same agent, since somebody has denied it. */
  drop(call: BoundCall): void {
    for (const record of this.#known.values())
      if (record.agent === call.agent && isSameCall(record, call)) this.#known.delete(record.id);
  }

  /** Takes out the approval that a call may use at `now`, in epoch milliseconds, so that no other call gets it. */
  take(call: BoundCall, idempotencyKey: string | undefined, now: number): ApprovalRecord | undefined {
    for (const record of this.#known.values()) {
      const isOver = record.deadlineAt <= now;
      // A person has approved the data beside the arguments, too.
      const isOfCall =
        record.agent === call.agent && isSameCall(record, call) && record.metaHash === call.metaHash;
      const isFound = !isOver && isOfCall && record.idempotencyKey === idempotencyKey;
      if (isOver || isFound) this.#known.delete(record.id);
      if (isFound) return record;
    }
    return undefined;
  }
}
