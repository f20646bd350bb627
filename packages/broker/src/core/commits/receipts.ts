import type { Fault } from '@signalbox/serving';
import type { InboxStore, NewMessage } from '@signalbox/store';
import type { Meter } from '../meter.ts';
import type { DeliverResult, Producer } from '../producer.ts';

/** The messages of one commit, with the producers and waiters that are told when they are durable. */
export interface WrittenBatch {
  readonly messages: readonly NewMessage[];
  /** The producer of each message. */
  readonly producers: readonly Producer[];
  /** The result of each message. */
  readonly results: readonly DeliverResult[];
  /** The length of all bodies in characters. They stay in memory until the batch is durable. */
  readonly length: number;
  readonly onDurable: readonly Waiter[];
  /** True if somebody waits until the batch is durable. */
  readonly isHurried: boolean;
  /** The time at which the first of its changes came, in monotonic milliseconds. */
  readonly since: number | undefined;
}

/** Called once, with the error if the awaited operation failed. */
export type Waiter = (error?: unknown) => void;

/** The callbacks of {@link Receipts}. */
export interface ReceiptsOptions {
  /** Called when a sync has ended and its producers are answered. */
  onSynced: () => void;
  /** Called if a sync fails. From then on no producer is answered. */
  onStoreFailed: (error: unknown) => void;
  /** The longest wait for a sync of a batch that no caller waits for, after its first change, in milliseconds. */
  lazyMs: number;
  meter: Meter;
  /** Returns monotonic milliseconds. */
  monotonic: () => number;
  fault: Fault | undefined;
}

/** The most batches, and the most characters of their bodies, that may wait for the next sync. Later ones are written after it. */
const maxWaiting = { batches: 64, length: 16 * 1024 * 1024 };

/**
 * Answers producers when their messages are durable. One sync runs at a time, for every batch that was written when it began. A batch that
 * no caller waits for is synced together with a later one, at the latest `lazyMs` after its first change.
 */
export class Receipts<B extends WrittenBatch> {
  readonly #store: InboxStore;
  readonly #options: ReceiptsOptions;
  #waiting: B[] = [];
  #waitingLength = 0;
  /** The batches that the running sync makes durable. */
  #syncing: B[] = [];
  /** True if a caller waits for a batch that was written since the running sync began. */
  #isHurried = false;
  #lazy: NodeJS.Timeout | undefined;
  /** False until the store has synced once: the receipts of a store without syncs come at once. */
  #storeSyncs = false;

  constructor(store: InboxStore, options: ReceiptsOptions) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * Tells whether a batch may be written now. While a sync runs, a batch that nobody awaits should accept more changes instead: it would
   * have to wait for the next sync anyway.
   */
  mayAdd(isAwaited: boolean): boolean {
    if (this.#syncing.length > 0 && !isAwaited) return false;
    return this.#waiting.length < maxWaiting.batches && this.#waitingLength < maxWaiting.length;
  }

  /** True when a sync should begin, so that it ends before the receipts are full. */
  get #isNearlyFull(): boolean {
    return this.#waiting.length >= maxWaiting.batches / 2 || this.#waitingLength >= maxWaiting.length / 2;
  }

  /** The newest written batch, while it is not durable. */
  get newest(): B | undefined {
    return this.#waiting.at(-1) ?? this.#syncing.at(-1);
  }

  /** Adds a batch that was just written. Returns true if it is durable already; then the caller calls {@link answer}. */
  add(batch: B): boolean {
    this.#waiting.push(batch);
    this.#waitingLength += batch.length;
    if (batch.isHurried) this.#isHurried = true;
    if (this.#syncing.length > 0 || this.#syncInTime()) return false;
    this.#take();
    return true;
  }

  /** Syncs everything written so far as soon as possible, because a caller has begun to wait for it. */
  hurry(): void {
    if (this.#waiting.length === 0) return;
    this.#isHurried = true;
    if (this.#syncing.length === 0) this.#sync();
  }

  /** Tells a batch's producers and waiters that it is durable. */
  answer({ messages, producers, results, onDurable }: B): void {
    if (messages.length > 0) this.#options.fault?.('broker.receipt.before');
    for (let i = 0; i < messages.length; i++) producers[i]!.answer(messages[i]!, results[i]!);
    for (const waiter of onDurable) waiter();
  }

  #take(): B[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#waitingLength = 0;
    this.#isHurried = false;
    clearTimeout(this.#lazy);
    this.#lazy = undefined;
    return taken;
  }

  /** Starts a sync now, or sets a timer for it. Returns false if everything written is durable already. */
  #syncInTime(): boolean {
    if (this.#isHurried || this.#isNearlyFull || !this.#storeSyncs) return this.#sync();
    if (this.#lazy) return true;
    const { lazyMs, monotonic } = this.#options;
    const waitMs = (this.#waiting[0]?.since ?? 0) + lazyMs - monotonic();
    if (waitMs <= 0) return this.#sync();
    this.#lazy = setTimeout(() => this.#sync(), waitMs);
    return true;
  }

  /** Starts a sync. Returns false if everything written is durable already. */
  #sync(): boolean {
    const { meter, monotonic } = this.#options;
    const began = monotonic();
    const synced = this.#store.sync();
    if (!synced) return false;
    this.#storeSyncs = true;
    this.#syncing = this.#take();
    synced.then(
      () => {
        meter.synced(monotonic() - began);
        this.#synced();
      },
      (error) => this.#failed(error),
    );
    return true;
  }

  #synced(): void {
    const durable = this.#syncing;
    this.#syncing = [];
    if (this.#waiting.length > 0) this.#syncInTime();
    for (const batch of durable) this.answer(batch);
    this.#options.onSynced();
  }

  #failed(error: unknown): void {
    const lost = [...this.#syncing, ...this.#take()];
    this.#syncing = [];
    for (const { onDurable } of lost) for (const waiter of onDurable) waiter(error);
    this.#options.onStoreFailed(error);
  }
}
