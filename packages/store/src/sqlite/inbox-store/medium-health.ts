import { StoreError } from '../../store-error.ts';
import { isMediumFailure } from '../database.ts';

/** The number of writes in a row that the medium may refuse before the store fails for good. */
const maxFailures = 3;

/**
 * Counts the writes in a row that the medium refused. A lack of room does not count: such a medium recovers. A medium that refuses
 * everything rarely recovers while the database is open, so the store fails for good after a few refusals.
 */
export class MediumHealth {
  readonly #file: string;
  #failures = 0;
  #final: StoreError | undefined;

  /** `file` is the database file. */
  constructor(file: string) {
    this.#file = file;
  }

  /** True if the last write was refused, and no later one has shown that the medium works. */
  get isInDoubt(): boolean {
    return this.#failures > 0;
  }

  /** Throws a `StoreError` if the store has failed for good. */
  check(): void {
    if (this.#final !== undefined) throw this.#final;
  }

  /** Notes that a write succeeded. */
  worked(): void {
    this.#failures = 0;
  }

  /** Counts a failed write if the medium refused it. Returns the error to throw, which is final after too many. */
  failed(error: StoreError): StoreError {
    if (this.#final !== undefined) return this.#final;
    if (!isMediumFailure(error.cause)) return error;
    if (++this.#failures < maxFailures) return error;
    this.#final = new StoreError(
      error.code,
      `${this.#file}: the disk refused ${maxFailures} writes in a row, the last with: ${causeText(error)}. Nothing is stored any more; see to the disk, then start again.`,
      error,
      { isFinal: true },
    );
    return this.#final;
  }
}

function causeText({ cause, message }: StoreError): string {
  return cause instanceof Error ? cause.message : message;
}
