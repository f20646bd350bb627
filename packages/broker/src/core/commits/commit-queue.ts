import type { Fault } from '@signalbox/serving';
import {
  type InboxStore,
  isFinalFailure,
  type NewMessage,
  type Settlement,
  type Taking,
} from '@signalbox/store';
import { isConversation } from '../message-header.ts';
import type { Meter } from '../meter.ts';
import type { DeliverResult, Producer } from '../producer.ts';
import { Receipts, type Waiter, type WrittenBatch } from './receipts.ts';

/** The changes of one commit, with all callers that wait for it. */
interface Batch extends WrittenBatch {
  takings: Taking[];
  messages: NewMessage[];
  producers: Producer[];
  settlements: Settlement[];
  attempts: { inbox: string; seq: number; attempts: number }[];
  cancelled: { inbox: string; seq: number }[];
  results: readonly DeliverResult[];
  length: number;
  onWritten: Waiter[];
  onDurable: Waiter[];
  /** True if it acks a message. */
  acks: boolean;
  /** True if it should be written before the disk is free, because a message can be pushed or a caller waits for the write. */
  isAwaited: boolean;
  isHurried: boolean;
  since: number | undefined;
}

/** Is told what a commit has written. */
export interface WrittenListener {
  /** Called for each message of a commit, in order. A stored message may then be pushed. */
  message(message: NewMessage, producer: Producer, result: DeliverResult): void;
  /** Called for each inbox into which a settlement may have put a notice. */
  notice(inbox: string): void;
}

/** The callbacks of a {@link CommitQueue}, and the longest wait of its changes. */
export interface CommitQueueOptions {
  /** Called if a commit with settlements failed. */
  onError: (error: unknown) => void;
  /** Called if the store has failed for good, perhaps more than once. */
  onStoreFailed: (error: unknown) => void;
  /**
   * The longest wait, in milliseconds, of a settlement for others to share its commit, and of a message whose sender does not wait for the
   * receipt for others to share its sync.
   */
  lazyMs: number;
  meter: Meter;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  fault: Fault | undefined;
}

/** The most messages, and the most characters of their bodies, that may wait for a commit before producers have to wait. */
const maxNext = { messages: 10_000, length: 16 * 1024 * 1024 };

const emptyBatch = (): Batch => ({
  takings: [],
  messages: [],
  producers: [],
  settlements: [],
  attempts: [],
  cancelled: [],
  results: [],
  length: 0,
  onWritten: [],
  onDurable: [],
  acks: false,
  isAwaited: false,
  isHurried: false,
  since: undefined,
});

/**
 * Commits changes in groups. Changes that arrive within one turn of the event loop, or while a commit runs, are one batch. Its messages may
 * be pushed once it is written. Their producers are answered when it is durable.
 */
export class CommitQueue {
  readonly #store: InboxStore;
  readonly #options: CommitQueueOptions;
  readonly #receipts: Receipts<Batch>;
  #listener: WrittenListener | undefined;
  #next = emptyBatch();
  /** The batch whose commit runs. */
  #current: Batch | undefined;
  /**
   * Sequence numbers of the settlements that are not written yet. The set is built when it is first asked for, and dropped when a commit
   * ends.
   */
  #settling: Set<number> | undefined;
  /** The highest sequence number that was ever settled. */
  #highestSettled = 0;
  #immediate: NodeJS.Immediate | undefined;
  #lazy: NodeJS.Timeout | undefined;

  constructor(store: InboxStore, options: CommitQueueOptions) {
    const { onStoreFailed, lazyMs, meter, monotonic, fault } = options;
    this.#store = store;
    this.#options = options;
    this.#receipts = new Receipts(store, {
      onSynced: this.#startNext,
      onStoreFailed,
      lazyMs,
      meter,
      monotonic,
      fault,
    });
  }

  /** Tells a listener what each commit from now on has written. */
  listen(listener: WrittenListener): void {
    this.#listener = listener;
  }

  /** True while some change is not durable. */
  get isBusy(): boolean {
    return hasWork(this.#next) || this.#newest() !== undefined;
  }

  /**
   * Adds a message to the next batch. `isLeased` says whether a consumer holds its inbox, so that it can be pushed once it is written. Returns
   * false while the disk can't keep up. Producers should then wait until their messages are {@link written}.
   */
  append(message: NewMessage, producer: Producer, isLeased: boolean): boolean {
    const next = this.#next;
    next.messages.push(message);
    next.producers.push(producer);
    if (message.body !== undefined) next.length += message.body.length;
    if (message.settles !== undefined || message.asked !== undefined) next.acks = true;
    if (isLeased) next.isAwaited = true;
    if (!isConversation(message.kind)) next.isHurried = true;
    this.#startSoon();
    return next.messages.length < maxNext.messages && next.length < maxNext.length;
  }

  /** Adds a settlement to the next batch, which starts within `lazyMs`. */
  settle(settlement: Settlement): void {
    const next = this.#next;
    const { seq, outcome } = settlement;
    next.settlements.push(settlement);
    if (outcome === 'acked') next.acks = true;
    if (seq > this.#highestSettled) this.#highestSettled = seq;
    this.#settling?.add(seq);
    this.#startLazily();
  }

  /** Tells whether the settlement of a message waits for its commit. The store still returns this message, but it must not be pushed. */
  isSettling(seq: number): boolean {
    // A message that was just stored has a higher number than all settled ones, so its push needs no set.
    if (seq > this.#highestSettled) return false;
    this.#settling ??= new Set(
      [...(this.#current?.settlements ?? []), ...this.#next.settlements].map((settlement) => settlement.seq),
    );
    return this.#settling.has(seq);
  }

  /** Adds the handing of a group's message to a member to the next batch, which starts within `lazyMs`. */
  recordTaking(taking: Taking): void {
    this.#next.takings.push(taking);
    this.#startLazily();
  }

  /** Adds the number of a message's failed attempts to the next batch, which starts within `lazyMs`. */
  recordAttempts(inbox: string, seq: number, attempts: number): void {
    this.#next.attempts.push({ inbox, seq, attempts });
    this.#startLazily();
  }

  /** Adds the cancel of a request that a consumer has to the next batch, which starts within `lazyMs`. */
  recordCancel(inbox: string, seq: number): void {
    this.#next.cancelled.push({ inbox, seq });
    this.#startLazily();
  }

  /** Resolves when all changes so far are written. Rejects if their commit failed. */
  written(): Promise<void> {
    if (hasWork(this.#next)) return this.#waitIn(this.#next, 'onWritten');
    return this.#current ? this.#waitIn(this.#current, 'onWritten') : Promise.resolve();
  }

  /** Resolves when all changes so far are durable. Rejects if their commit or their sync failed. */
  flushed(): Promise<void> {
    if (hasWork(this.#next)) return this.#waitIn(this.#next, 'onDurable');
    const newest = this.#newest();
    return newest ? this.#waitIn(newest, 'onDurable') : Promise.resolve();
  }

  /** Returns the newest batch, while it is not durable. */
  #newest(): Batch | undefined {
    return this.#current ?? this.#receipts.newest;
  }

  #waitIn(batch: Batch, moment: 'onWritten' | 'onDurable'): Promise<void> {
    if (moment === 'onWritten') batch.isAwaited = true;
    else batch.isHurried = true;
    return new Promise((resolve, reject) => {
      batch[moment].push((error) => (error === undefined ? resolve() : reject(error)));
      if (batch === this.#next) this.#startSoon();
      else if (moment === 'onDurable') this.#receipts.hurry();
    });
  }

  #startSoon(): void {
    this.#next.since ??= this.#options.monotonic();
    if (this.#current || this.#immediate || !this.#receipts.mayAdd(this.#next.isAwaited)) return;
    this.#immediate = setImmediate(this.#start);
  }

  #startLazily(): void {
    this.#next.since ??= this.#options.monotonic();
    if (this.#current || this.#immediate || this.#lazy || !this.#receipts.mayAdd(true)) return;
    this.#lazy = setTimeout(this.#start, this.#options.lazyMs);
  }

  /** Starts the commit of the changes that came during a commit or a sync. */
  readonly #startNext = (): void => {
    const { messages, onWritten, onDurable } = this.#next;
    if (messages.length + onWritten.length + onDurable.length > 0) this.#startSoon();
    else if (hasWork(this.#next)) this.#startLazily();
  };

  readonly #start = (): void => {
    if (this.#immediate) clearImmediate(this.#immediate);
    if (this.#lazy) clearTimeout(this.#lazy);
    this.#immediate = undefined;
    this.#lazy = undefined;
    const batch = this.#next;
    this.#next = emptyBatch();
    this.#current = batch;
    void this.#commit(batch).then(this.#startNext);
  };

  async #commit(batch: Batch): Promise<void> {
    const { meter, monotonic } = this.#options;
    const { messages, producers, settlements } = batch;
    if (this.#options.fault) this.#passFaultPoints(batch, 'before_commit');
    const began = monotonic();
    try {
      batch.results = await this.#store.commit(batch);
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    meter.committed(monotonic() - began);
    if (this.#options.fault) this.#passFaultPoints(batch, 'after_commit');
    // The disk syncs while the messages are pushed.
    const isDurable = this.#receipts.add(batch);
    for (let i = 0; i < messages.length; i++)
      this.#listener?.message(messages[i]!, producers[i]!, batch.results[i]!);
    for (const { notice } of settlements) if (notice) this.#listener?.notice(notice.inbox);
    this.#ended();
    for (const waiter of batch.onWritten) waiter();
    if (isDurable) this.#receipts.answer(batch);
  }

  #failed(batch: Batch, error: unknown): void {
    const { messages, producers, settlements, onWritten, onDurable } = batch;
    const failed = { result: 'failed', error } as const;
    this.#ended();
    for (let i = 0; i < messages.length; i++) producers[i]!.answer(messages[i]!, failed);
    for (const waiter of [...onWritten, ...onDurable]) waiter(error);
    if (isFinalFailure(error)) this.#options.onStoreFailed(error);
    else if (settlements.length > 0) this.#options.onError(error);
  }

  /** Ends the running commit: no caller may begin to wait for it any more. */
  #ended(): void {
    this.#current = undefined;
    this.#settling = undefined;
  }

  #passFaultPoints({ messages, acks }: Batch, moment: 'before_commit' | 'after_commit'): void {
    const { fault } = this.#options;
    if (messages.length > 0) fault?.(`broker.deliver.${moment}`);
    if (acks) fault?.(`broker.ack.${moment}`);
  }
}

function hasWork({ takings, messages, settlements, attempts, cancelled }: Batch): boolean {
  const own = messages.length > 0 || settlements.length > 0 || attempts.length > 0;
  return own || takings.length > 0 || cancelled.length > 0;
}
