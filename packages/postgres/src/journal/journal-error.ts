import { messageOf, SignalboxError } from '@signalbox/protocol';
import { StoreError } from '@signalbox/store/rules';

/** Converts a failure of the database to a `SignalboxError` whose code starts with `journal_`. */
export function journalError(thrown: unknown): SignalboxError {
  if (thrown instanceof SignalboxError) return thrown;
  if (thrown instanceof StoreError && thrown.isFinal)
    return new SignalboxError(
      'journal_in_use',
      'the journal counts this orchestrator as dead, because it was not heard of for too long; or the database was restored to an earlier moment. It starts no call any more: start it again',
      { cause: thrown },
    );
  const code =
    thrown instanceof StoreError && thrown.code === 'store_full' ? 'journal_full' : 'journal_failed';
  return new SignalboxError(code, messageOf(thrown), { retryable: true, cause: thrown });
}

/** Runs an action, and converts its failure to an error of the journal. */
export async function attempt<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (thrown) {
    throw journalError(thrown);
  }
}

/** Returns a text that PostgreSQL can store: without NUL and without half characters. Ids stay unchanged. */
export function keptText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}
