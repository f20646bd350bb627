import type { PostgresDatabase, Statement, Transaction } from '../internal.ts';

const lookEveryMs = 250;

/** A kind of records that orchestrators share. Each orchestrator reads them again when another one has changed some. */
export type Shared = 'approvals' | 'pins';

/** Calls its listeners after changes by any orchestrator. The next poll finds changes whose notice was lost. */
export class Changes implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #read: Statement;
  readonly #raise: Record<Shared, Statement>;
  readonly #listeners: Record<Shared, Set<() => void>> = { approvals: new Set(), pins: new Set() };
  readonly #timer: NodeJS.Timeout;
  readonly #onOver: (thrown: unknown) => void;
  #known: Record<Shared, number> | undefined;
  #looking: Promise<void> | undefined;

  /** `onOver` is called when the incarnation of this orchestrator is found to be over. */
  constructor(database: PostgresDatabase, onOver: (thrown: unknown) => void) {
    this.#database = database;
    this.#onOver = onOver;
    this.#read = database.statement('SELECT approvals, pins FROM @change');
    this.#raise = {
      approvals: database.statement('UPDATE @change SET approvals = approvals + 1'),
      pins: database.statement('UPDATE @change SET pins = pins + 1'),
    };
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    }, lookEveryMs).unref();
  }

  /** Notes a change in the transaction that makes it. */
  note(what: Shared, transaction: Transaction): void {
    transaction.write(this.#raise[what]);
  }

  /** Adds a listener. Returns a function that removes it. */
  on(what: Shared, listener: () => void): () => void {
    this.#listeners[what].add(listener);
    return () => this.#listeners[what].delete(listener);
  }

  async #look(): Promise<void> {
    try {
      this.#database.check();
    } catch (thrown) {
      this.#onOver(thrown);
    }
    const [now] = await this.#database.read<Record<Shared, number>>(this.#read).catch(() => []);
    if (!now) return;
    const known = this.#known;
    this.#known = now;
    for (const what of ['approvals', 'pins'] as const)
      if (known?.[what] !== now[what]) for (const listener of this.#listeners[what]) listener();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }
}
