import { timerMs } from '@signalbox/serving';
import type { ApprovalRecord, ApprovalStore, StandingRecord } from '@signalbox/store/journal';
import { type ApprovalEvent, endBy } from './approval-record.ts';

/** The dependencies of an {@link OpenApproval}. */
export interface OpenApprovalDeps {
  store: Pick<ApprovalStore, 'end' | 'find'>;
  /** Epoch milliseconds. */
  now: () => number;
  /** Called once, when the end of the approval is on the disk, whether this process or another one wrote it. */
  onEnded: (approval: OpenApproval, by: { isOwn: boolean }) => void;
  /** Called if an end without a waiting caller can't be written. */
  onFailed: (approval: OpenApproval, thrown: unknown) => void;
}

/** The result of an event. `isDone` is false if the approval had ended, or ended for another reason. */
export interface Decided {
  record: ApprovalRecord;
  isDone: boolean;
}

/** An approval that has not ended. It expires at its deadline unless it ends earlier. */
export class OpenApproval implements Disposable {
  /** The record as it is stored. */
  record: ApprovalRecord;
  /** Resolves when the record is on the disk. */
  written: Promise<void> = Promise.resolve();
  /** Called when the approval has ended; absent while its request is not here. */
  onDecided: ((record: ApprovalRecord) => void) | undefined;
  /** The time at which its caller was found to wait no longer, in epoch milliseconds; `undefined` while the caller may wait. */
  leftAt: number | undefined;
  readonly #deps: OpenApprovalDeps;
  #ending: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(record: ApprovalRecord, deps: OpenApprovalDeps) {
    this.record = record;
    this.#deps = deps;
    this.#expireInTime();
  }

  /** True while an end is being written. */
  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  /**
   * Ends the approval by an event. Simultaneous events are written one after the other, and only the first counts. Rejects if it can't be
   * written.
   */
  async end(event: ApprovalEvent, standing?: StandingRecord): Promise<Decided> {
    while (this.#ending) await this.#ending.catch(() => {});
    const { store, now, onEnded } = this.#deps;
    const outcome = endBy(this.record, event, now());
    if (!outcome) return { record: this.record, isDone: false };
    const { end, isDone } = outcome;
    const { id } = this.record;
    let isFirst = false;
    const write = async () => {
      await this.written;
      isFirst = await store.end(id, end, isDone ? standing : undefined);
      this.record = isFirst ? { ...this.record, end } : ((await store.find(id)) ?? this.record);
    };
    this.#ending = write();
    try {
      await this.#ending;
    } finally {
      this.#ending = undefined;
    }
    this[Symbol.dispose]();
    onEnded(this, { isOwn: isFirst });
    this.onDecided?.(this.record);
    return { record: this.record, isDone: isDone && isFirst };
  }

  /** Takes over the end that another process has written. */
  endedElsewhere(record: ApprovalRecord): void {
    if (this.#ending) return;
    this.record = record;
    this[Symbol.dispose]();
    this.#deps.onEnded(this, { isOwn: false });
    this.onDecided?.(record);
  }

  /** Ends the approval by an event whose result nobody waits for. */
  endQuietly(event: ApprovalEvent): void {
    this.end(event).catch((thrown) => this.#deps.onFailed(this, thrown));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #expireInTime(): void {
    const waitMs = this.record.deadlineAt - this.#deps.now();
    this.#timer = setTimeout(() => {
      if (this.#deps.now() < this.record.deadlineAt) this.#expireInTime();
      else this.endQuietly({ kind: 'expire' });
    }, timerMs(waitMs)).unref();
  }
}
