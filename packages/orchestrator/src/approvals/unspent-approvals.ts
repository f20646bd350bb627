import type { ApprovalRecord, BoundCall } from '@signalbox/store/journal';
import { isSameCall } from './approval-record.ts';

/**
 * The approvals whose calls ended before they were sent. The same call of the same agent may use each of them once more until its deadline.
 * Only the process that saw the end knows of them: any other one can't know whether a call was sent since.
 */
export class UnspentApprovals {
  readonly #known = new Map<string, ApprovalRecord>();

  add(record: ApprovalRecord): void {
    this.#known.set(record.id, record);
  }

  has(id: string): boolean {
    return this.#known.has(id);
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
