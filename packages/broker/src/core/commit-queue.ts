import type { Fault } from '@signalbox/protocol';
import type { Appended, InboxStore, NewMessage, Settlement } from '@signalbox/store';

type OnAppended = (appended: Appended | { result: 'failed'; error: unknown }) => void;

interface Pending {
  messages: NewMessage[];
  answers: OnAppended[];
  settlements: Settlement[];
  attempts: { inbox: string; seq: number; attempts: number }[];
  after: ((error?: unknown) => void)[];
}

export interface CommitQueueOptions {
  onCommitted: () => void;
  /** Told each inbox into which a settlement may have put a notice. */
  onNotice: (inbox: string) => void;
  /** Told when settlements were lost that nobody waited for. */
  onError: (error: unknown) => void;
  /** How long a settlement that nobody waits for may wait for company. */
  lazyMs: number;
  fault: Fault;
}

const emptyBatch = (): Pending => ({ messages: [], answers: [], settlements: [], attempts: [], after: [] });

/**
 * Group commit: what arrives within one turn of the event loop, or while a commit runs, is one batch.
 * Answers run after the commit that they tell of; `onCommitted` after all answers of a batch.
 */
export class CommitQueue {
  readonly #store: InboxStore;
  readonly #options: CommitQueueOptions;
  /** Sequence numbers of the settlements that are not on disk yet. */
  readonly #settling = new Set<number>();
  #next = emptyBatch();
  #running: Promise<void> | undefined;
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

  append(message: NewMessage, answer: OnAppended): void {
    this.#next.messages.push(message);
    this.#next.answers.push(answer);
    this.#soon();
  }

  /** Rides along with the next commit, which starts within `lazyMs` at the latest. */
  settle(settlement: Settlement): void {
    this.#next.settlements.push(settlement);
    this.#settling.add(settlement.seq);
    this.#lazily();
  }

  /** True while the end of a message waits for its commit: the store still has it, and nobody may be handed it. */
  isSettling(seq: number): boolean {
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
    this.#running = this.#commit(batch).then(() => {
      this.#running = undefined;
      for (const { seq } of batch.settlements) this.#settling.delete(seq);
      this.#options.onCommitted();
      if (this.#next.messages.length > 0 || this.#next.after.length > 0) this.#soon();
      else if (hasWork(this.#next)) this.#lazily();
    });
  }

  async #commit(batch: Pending): Promise<void> {
    const { onNotice, onError } = this.#options;
    let appended: Appended[];
    this.#passing(batch, 'before_commit');
    try {
      appended = await this.#store.commit(batch);
    } catch (error) {
      for (const answer of batch.answers) answer({ result: 'failed', error });
      for (const after of batch.after) after(error);
      if (batch.settlements.length > 0) onError(error);
      return;
    }
    this.#passing(batch, 'after_commit');
    for (let i = 0; i < appended.length; i++) batch.answers[i]!(appended[i]!);
    for (const { notice } of batch.settlements) if (notice) onNotice(notice.inbox);
    for (const after of batch.after) after();
  }

  #passing({ messages, settlements }: Pending, moment: 'before_commit' | 'after_commit'): void {
    const { fault } = this.#options;
    if (messages.length > 0) fault(`broker.deliver.${moment}`);
    if (settlements.some(isAck) || messages.some(settlesOther)) fault(`broker.ack.${moment}`);
  }
}

function isAck({ outcome }: Settlement): boolean {
  return outcome === 'acked';
}

function settlesOther({ settles }: NewMessage): boolean {
  return settles !== undefined;
}

function hasWork(batch: Pending): boolean {
  return batch.messages.length > 0 || batch.settlements.length > 0 || batch.attempts.length > 0;
}
