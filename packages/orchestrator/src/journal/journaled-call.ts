import { messageOf, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { CallEnd, CallKey, Journal, JournalEntry, StartedCall } from './journal.ts';

/** One call's place in a journal. It stays empty for a call that is never started, or that is safe to repeat. */
export class JournalPage {
  readonly #journal: Journal;
  readonly #key: CallKey;
  /** What stood there when the request came. */
  readonly earlier: JournalEntry | undefined;
  #isWritten: boolean;

  /** Throws if the journal can't be read. */
  constructor(journal: Journal, key: CallKey) {
    this.#journal = journal;
    this.#key = key;
    this.earlier = journal.find(key);
    this.#isWritten = this.earlier !== undefined;
  }

  /** Puts the call on disk; an error if that can't be done, and it must not be made. Once is enough. */
  async start(call: Omit<StartedCall, keyof CallKey>): Promise<ToolCallError | undefined> {
    if (this.#isWritten) return undefined;
    try {
      await this.#journal.start({ ...this.#key, ...call });
      this.#isWritten = true;
      return undefined;
    } catch (thrown) {
      return toolCallError('internal', 'the call was not made, because its start could not be written down', {
        mayHaveRun: false,
        retryable: true,
        hint: "The orchestrator's log says what is wrong with its journal.",
        causeChain: [messageOf(thrown)],
      });
    }
  }

  /** True if there was something to write. */
  async finish(end: CallEnd): Promise<boolean> {
    if (this.#isWritten) await this.#journal.finish(this.#key, end);
    return this.#isWritten;
  }

  settle(how: 'stored' | 'refused'): void {
    if (this.#isWritten) this.#journal.settle(this.#key, how);
  }
}
