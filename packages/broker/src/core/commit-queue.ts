import type { Fault, Sender } from '@signalbox/protocol';
import type { Appended, InboxStore, NewMessage, Settlement } from '@signalbox/store';

/** What became of a message that was handed over. */
export type DeliverResult = Appended | { result: 'failed'; error: unknown };

/** Whoever hands messages over. One object for all of its messages: it is told which one an answer is for. */
export interface Deliverer {
  /** The sender of its messages. */
  readonly sender: Sender;
  /** What became of a message, after the commit that holds it. */
  answer(message: NewMessage, result: DeliverResult): void;
}

interface Pending {
  messages: NewMessage[];
  /** Of each message. */
  deliverers: Deliverer[];
  settlements: Settlement[];
  attempts: { inbox: string; seq: number; attempts: number }[];
  after: ((error?: unknown) => void)[];
  /** Some message ends as it would by an ack. */
  acks: boolean;
}

export interface CommitQueueOptions {
  /** Told what became of each message, in their order. */
  onAnswer: (message: NewMessage, deliverer: Deliverer, result: DeliverResult) => void;
  onCommitted: () => void;
  /** Told each inbox into which a settlement may have put a notice. */
  onNotice: (inbox: string) => void;
  /** Told when settlements were lost that nobody waited for. */
  onError: (error: unknown) => void;
  /** How long a settlement that nobody waits for may wait for company. */
  lazyMs: number;
  fault: Fault;
}

const emptyBatch = (): Pending => ({
  messages: [],
  deliverers: [],
  settlements: [],
  attempts: [],
  after: [],
  acks: false,
});

/**
 * Group commit: what arrives within one turn of the event loop, or while a commit runs, is one batch.
 * Answers run after the commit that they tell of; `onCommitted` after all answers of a batch.
 */
export class CommitQueue {
  readonly #store: InboxStore;
  readonly #options: CommitQueueOptions;
  #next = emptyBatch();
  /** The batch whose commit runs. */
  #current: Pending | undefined;
  #running: Promise<void> | undefined;
  /** Sequence numbers of the settlements that are not on disk yet; made when asked for, and kept until a commit ends. */
  #settling: Set<number> | undefined;
  /** The highest sequence number that was ever settled. */
  #highestSettled = 0;
  #immediate: NodeJS.Immediate | undefined;
  #lazy: NodeJS.Timeout | undefined;

  constructor(store: InboxStore, options: CommitQueueOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Something waits for a commit, or for the end of one. */
  get isBusy(): boolean {
    return this.#running !== undefined || hasWork(this.#next);
  }

  append(message: NewMessage, deliverer: Deliverer): void {
    const next = this.#next;
    next.messages.push(message);
    next.deliverers.push(deliverer);
    if (message.settles !== undefined) next.acks = true;
    this.#soon();
  }

  /** Rides along with the next commit, which starts within `lazyMs` at the latest. */
  settle(settlement: Settlement): void {
    const next = this.#next;
    const { seq, outcome } = settlement;
    next.settlements.push(settlement);
    if (outcome === 'acked') next.acks = true;
    if (seq > this.#highestSettled) this.#highestSettled = seq;
    this.#settling?.add(seq);
    this.#lazily();
  }

  /** True while the end of a message waits for its commit: the store still has it, and nobody may be handed it. */
  isSettling(seq: number): boolean {
    // What was just stored is newer than all that was settled: it needs no look-up, nor what can be looked up.
    if (seq > this.#highestSettled) return false;
    this.#settling ??= new Set(
      [...(this.#current?.settlements ?? []), ...this.#next.settlements].map((settlement) => settlement.seq),
    );
    return this.#settling.has(seq);
  }

  recordAttempts(inbox: string, seq: number, attempts: number): void {
    this.#next.attempts.push({ inbox, seq, attempts });
    this.#lazily();
  }

  /**
   * Resolves when everything handed over so far is committed. Rejects if what still waited for its commit failed; the
   * failure of a commit that ran already was told to those who waited for it.
   */
  flushed(): Promise<void> {
    if (!hasWork(this.#next)) return this.#running ?? Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#next.after.push((error) => (error === undefined ? resolve() : reject(error)));
      this.#soon();
    });
  }

  #soon(): void {
    if (this.#running || this.#immediate) return;
    this.#immediate = setImmediate(() => this.#start());
  }

  #lazily(): void {
    if (this.#running || this.#immediate || this.#lazy) return;
    this.#lazy = setTimeout(() => this.#start(), this.#options.lazyMs);
  }

  #start(): void {
    if (this.#immediate) clearImmediate(this.#immediate);
    if (this.#lazy) clearTimeout(this.#lazy);
    this.#immediate = undefined;
    this.#lazy = undefined;
    const batch = this.#next;
    this.#next = emptyBatch();
    this.#current = batch;
    this.#running = this.#commit(batch).then(() => {
      this.#running = undefined;
      this.#current = undefined;
      this.#settling = undefined;
      this.#options.onCommitted();
      if (this.#next.messages.length > 0 || this.#next.after.length > 0) this.#soon();
      else if (hasWork(this.#next)) this.#lazily();
    });
  }

  async #commit(batch: Pending): Promise<void> {
    const { onAnswer, onNotice, onError } = this.#options;
    const { messages, deliverers, settlements } = batch;
    let appended: Appended[];
    this.#passing(batch, 'before_commit');
    try {
      appended = await this.#store.commit(batch);
    } catch (error) {
      const failed = { result: 'failed', error } as const;
      for (let i = 0; i < messages.length; i++) onAnswer(messages[i]!, deliverers[i]!, failed);
      for (const after of batch.after) after(error);
      if (settlements.length > 0) onError(error);
      return;
    }
    this.#passing(batch, 'after_commit');
    for (let i = 0; i < messages.length; i++) onAnswer(messages[i]!, deliverers[i]!, appended[i]!);
    for (const { notice } of settlements) if (notice) onNotice(notice.inbox);
    for (const after of batch.after) after();
  }

  #passing({ messages, acks }: Pending, moment: 'before_commit' | 'after_commit'): void {
    const { fault } = this.#options;
    if (messages.length > 0) fault(`broker.deliver.${moment}`);
    if (acks) fault(`broker.ack.${moment}`);
  }
}

function hasWork(batch: Pending): boolean {
  return batch.messages.length > 0 || batch.settlements.length > 0 || batch.attempts.length > 0;
}
