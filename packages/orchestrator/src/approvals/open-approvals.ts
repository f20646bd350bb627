import type { BrokerClient, Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import { type Fault, timerMs } from '@signalbox/serving';
import type { ApprovalRecord, ApprovalStore, StandingRecord } from '@signalbox/store/journal';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { approvalEvents } from './approval-notices.ts';
import { type ApprovalEvent, differenceFrom, endBy, isQuestion } from './approval-record.ts';
import type { WaitingSlots } from './waiting-slots.ts';

/** The time between two checks for calls that their callers cancelled while this process was away, in milliseconds. */
const defaultSweepEveryMs = 30_000;
/** The most calls in one question to the broker. */
const sweptAtOnce = 64;

/** The dependencies of an {@link OpenApproval}. */
interface OpenApprovalDeps {
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

/** The dependencies of {@link OpenApprovals}. */
export interface OpenApprovalsDeps {
  store: Pick<ApprovalStore, 'end' | 'find'>;
  client: Pick<BrokerClient, 'find'>;
  /** Returns a hash of the present definition of a tool; `undefined` if no tool has this name now. */
  definitionHash: (tool: string) => string | undefined;
  /** The slots of waiting calls. */
  slots: WaitingSlots;
  /**
   * Called when the end of an approval is on the disk, before its own request hears of it. `isOwn` is true if this process wrote it.
   */
  onEnded: (open: OpenApproval, by: { isOwn: boolean }) => void;
  /** Called when the caller of an approval is found to wait no longer. */
  onLeft: (record: ApprovalRecord) => void;
  audit: Pick<AuditTrail, 'record'>;
  /** The time between two questions to the broker about calls whose requests are not here, in milliseconds; default 30 s. */
  sweepEveryMs?: number;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
  log: Log;
}

/** The number of calls that wait for a decision, the time since when the oldest waits, and the nearest of their deadlines. */
export interface WaitingSummary {
  waiting: number;
  oldestAt?: number;
  deadlineAt?: number;
}

/**
 * The approvals that have not ended, and every way in which they end: a decision, a changed tool, a caller that has gone, the deadline.
 * They end whether or not their requests are here.
 */
export class OpenApprovals implements Disposable {
  readonly #deps: OpenApprovalsDeps;
  readonly #open = new Map<string, OpenApproval>();
  readonly #sweeping: NodeJS.Timeout;

  /** `pending` are the store's records. */
  constructor(deps: OpenApprovalsDeps, pending: readonly ApprovalRecord[]) {
    this.#deps = deps;
    for (const record of pending) this.add(record);
    this.#sweeping = setInterval(() => void this.#sweep(), deps.sweepEveryMs ?? defaultSweepEveryMs).unref();
  }

  /** Returns the approval with this id, unless it has ended. */
  get(id: string): OpenApproval | undefined {
    return this.#open.get(id);
  }

  /** Reads the approval with this id, also one that has ended. */
  async find(id: string): Promise<ApprovalRecord | undefined> {
    return this.#open.get(id)?.record ?? (await this.#deps.store.find(id));
  }

  /** Lists the approvals, oldest first. */
  all(): Iterable<OpenApproval> {
    return this.#open.values();
  }

  /** Counts the approvals. Times are epoch milliseconds, absent if no approval is open. */
  summary(): WaitingSummary {
    const records = Array.from(this.#open.values(), ({ record }) => record);
    if (records.length === 0) return { waiting: 0 };
    return {
      waiting: records.length,
      oldestAt: Math.min(...records.map(({ createdAt }) => createdAt)),
      deadlineAt: Math.min(...records.map(({ deadlineAt }) => deadlineAt)),
    };
  }

  /** Adds an approval, which takes a slot. `minter` is the minting token that issued the agent's token, if one did. */
  add(record: ApprovalRecord, minter?: string): OpenApproval {
    const { store, now, audit, fault, slots, onEnded } = this.#deps;
    const open = new OpenApproval(record, {
      store,
      now,
      onEnded: (ended, { isOwn }) => {
        if (ended.record.end?.state === 'approved') fault('orchestrator.approval.decided');
        this.#remove(ended);
        onEnded(ended, { isOwn });
        if (isOwn) audit.record(approvalEvents.decided(ended.record));
      },
      onFailed: (failed, thrown) => this.#logFailure(failed.record, thrown),
    });
    this.#open.set(record.id, open);
    slots.take(record.agent, minter);
    return open;
  }

  /** Returns the approval of a record that was read without an end. Another process may have proposed it, or ended it, a moment ago. */
  async join(record: ApprovalRecord): Promise<OpenApproval> {
    const known = this.#open.get(record.id);
    if (known) return known;
    // It is added before it is read again, so that `refresh` reports an end that comes between the two.
    const open = this.add(record);
    const now = await this.#deps.store.find(record.id);
    if (now?.end) open.endedElsewhere(now);
    return open;
  }

  /** Adds the approvals that other processes have proposed, and ends those that they have decided. `pending` are the store's records. */
  async refresh(pending: readonly ApprovalRecord[]): Promise<void> {
    const waiting = new Set(pending.map(({ id }) => id));
    for (const record of pending) if (!this.#open.has(record.id)) this.add(record);
    for (const open of [...this.#open.values()]) {
      if (waiting.has(open.record.id)) continue;
      // An approval that is being written is not in the store yet.
      const record = await this.#deps.store.find(open.record.id);
      if (record?.end && this.#open.get(record.id) === open) open.endedElsewhere(record);
    }
  }

  /** Forgets an approval that could not be written. */
  drop(open: OpenApproval): void {
    open[Symbol.dispose]();
    this.#remove(open);
  }

  /** Applies a decision, if it changes anything. Rejects if it can't be written; then the call continues to wait. */
  async decide(
    open: OpenApproval,
    event: ApprovalEvent & { kind: 'approve' | 'deny' },
    standing?: StandingRecord,
  ): Promise<Decided> {
    await open.written;
    const reason = this.changeOf(open.record);
    if (reason !== undefined) {
      const { record } = await open.end({ kind: 'supersede', reason });
      return { record, isDone: false };
    }
    const isAbsent = !open.onDecided && open.leftAt === undefined;
    if (isAbsent && !(await this.isWanted(open.record))) {
      if (isQuestion(open.record)) {
        const { record } = await open.end({ kind: 'cancel', reason: gone });
        return { record, isDone: false };
      }
      this.leave(open);
    }
    this.#deps.fault('orchestrator.approval.deciding');
    return await open.end(event, standing);
  }

  /** Notes that the caller of an approval waits no longer. People can still decide on it, and no decision makes the call. */
  leave(open: OpenApproval): void {
    if (open.leftAt !== undefined) return;
    open.leftAt = this.#deps.now();
    this.#deps.onLeft(open.record);
  }

  /** Describes how an approval's call differs from the one that was asked about; `undefined` if it does not. */
  changeOf(record: ApprovalRecord, argumentsHash = record.argumentsHash): string | undefined {
    const definitionHash = this.#deps.definitionHash(record.tool);
    return differenceFrom(record, { ...record, definitionHash, argumentsHash });
  }

  /** Ends the approvals of calls whose tools have changed. */
  definitionsChanged(): void {
    for (const open of this.#open.values()) {
      const reason = this.changeOf(open.record);
      if (reason !== undefined) open.endQuietly({ kind: 'supersede', reason });
    }
  }

  /** Asks the broker whether anybody still waits for a call whose request is not here. */
  async isWanted({ agent, requestId }: ApprovalRecord): Promise<boolean> {
    const [state] = await this.#deps.client.find([{ agent, id: requestId }]);
    return state === 'open';
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeping);
    for (const open of this.#open.values()) open[Symbol.dispose]();
  }

  #remove({ record }: OpenApproval): void {
    if (this.#open.delete(record.id)) this.#deps.slots.giveBack(record.agent);
  }

  /** Finds what was cancelled while no orchestrator was connected. Questions of agents' CLIs end; people can still decide on calls. */
  async #sweep(): Promise<void> {
    const absent = [...this.#open.values()].filter(
      ({ onDecided, isEnding, leftAt }) => !onDecided && !isEnding && leftAt === undefined,
    );
    try {
      for (let at = 0; at < absent.length; at += sweptAtOnce) {
        const some = absent.slice(at, at + sweptAtOnce);
        const requests = some.map(({ record }) => ({ agent: record.agent, id: record.requestId }));
        const states = await this.#deps.client.find(requests);
        for (const [i, open] of some.entries()) {
          if (states[i] === 'open' || open.onDecided) continue;
          if (isQuestion(open.record)) open.endQuietly({ kind: 'cancel', reason: gone });
          else this.leave(open);
        }
      }
    } catch (thrown) {
      this.#deps.log({ event: 'requests_not_checked', reason: messageOf(thrown) });
    }
  }

  #logFailure({ requestId: id }: ApprovalRecord, thrown: unknown): void {
    this.#deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
  }
}

const gone = 'nobody waits for the call any more';
