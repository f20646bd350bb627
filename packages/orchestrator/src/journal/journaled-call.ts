import { messageOf, SignalboxError, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type {
  CallEnd,
  CallKey,
  Journal,
  JournalEntry,
  ReceivedCall,
  SettledHow,
  StartedCall,
} from '@signalbox/store/journal';

/** The end of a call, in the form in which it is written to the journal. */
export interface EndedCall {
  call: Omit<ReceivedCall, keyof CallKey>;
  end: CallEnd;
}

/**
 * Writes one call to the journal. The journal has no entry for a call that never starts, or that is safe to repeat, unless its reply is
 * kept.
 */
export class JournaledCall {
  readonly #journal: Journal;
  readonly #key: CallKey;
  /** The entry that the journal had when the request came. */
  readonly earlier: JournalEntry | undefined;
  /** True if the journal has an entry of the call. */
  #isWritten: boolean;
  #isStarted: boolean;

  /** `earlier` is the present entry in the journal. */
  constructor(journal: Journal, key: CallKey, earlier: JournalEntry | undefined) {
    this.#journal = journal;
    this.#key = key;
    this.earlier = earlier;
    this.#isWritten = earlier !== undefined;
    this.#isStarted = earlier?.wasStarted ?? false;
  }

  /** Writes the start of the call to the disk, once. Resolves with an error if that fails; then the call must not be sent. */
  async start(call: Omit<StartedCall, keyof CallKey>): Promise<ToolCallError | undefined> {
    if (this.#isStarted) return undefined;
    try {
      await this.#journal.start({ ...this.#key, ...call }, this.earlier);
      this.#isWritten = true;
      this.#isStarted = true;
      return undefined;
    } catch (thrown) {
      const wasMade = thrown instanceof SignalboxError && thrown.code === 'journal_already_started';
      return wasMade ? madeBefore(this.#key.requestId) : notWritten(thrown);
    }
  }

  /** Makes the journal keep the reply although it is delivered; see {@link Journal.keep}. */
  async keep(call: Omit<ReceivedCall, keyof CallKey>): Promise<void> {
    const wasWritten = this.#isWritten;
    // The end is written after this, and must find the entry.
    this.#isWritten = true;
    try {
      await this.#journal.keep({ ...this.#key, ...call });
    } catch (thrown) {
      this.#isWritten = wasWritten || this.#isStarted;
      throw thrown;
    }
  }

  /** Tells whether the end of the call must be written: the journal has an entry for it, or its reply is late. */
  hasToFinish(isLate: boolean): boolean {
    return this.#isWritten || isLate;
  }

  /** Writes the end of the call. */
  async finish({ call, end }: EndedCall): Promise<void> {
    if (this.#isWritten) await this.#journal.finish(this.#key, end, this.earlier);
    else {
      await this.#journal.record({ ...this.#key, ...call }, end);
      this.#isWritten = true;
    }
  }

  /**
   * Notes that the request was acked; see {@link Journal.settle}. `toKeep` returns the end to write if the requester did not get its reply
   * and the journal has no entry of the call.
   */
  settle(how: Exclude<SettledHow, 'found'>, toKeep: () => EndedCall | undefined): void {
    const ended = this.#isWritten || how === 'stored' ? undefined : toKeep();
    if (ended) {
      // If this fails, the reply is kept only as long as the registry has it.
      this.#journal.record({ ...this.#key, ...ended.call }, ended.end).catch(() => {});
      this.#isWritten = true;
    }
    if (this.#isWritten) this.#journal.settle(this.#key, how);
  }
}

/** Makes the error for a call that is not made because another one with its id was, of which its request did not know. */
function madeBefore(requestId: string): ToolCallError {
  return toolCallError('outcome_unknown', `a call with the id of request ${requestId} was made before`, {
    mayHaveRun: true,
    hint: 'It is not made again. The status of the request shows what is recorded.',
  });
}

/** Makes the error for a call that was not made because the journal could not be written. */
export function notWritten(thrown: unknown): ToolCallError {
  const isFull = thrown instanceof SignalboxError && thrown.code === 'journal_full';
  return toolCallError(
    isFull ? 'storage_full' : 'internal',
    'the call was not made, because its start could not be written down',
    {
      mayHaveRun: false,
      retryable: true,
      hint: "The orchestrator's log says what is wrong with its journal.",
      causeChain: [messageOf(thrown)],
    },
  );
}
