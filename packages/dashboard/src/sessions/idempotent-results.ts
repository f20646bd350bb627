import { SignalboxError } from '@signalbox/protocol';

/** The most keys of one session that are remembered; the oldest are forgotten first. */
const maxKeys = 256;

/** Remembers what came of the commands of a session by their `Idempotency-Key`, so that one that comes again runs once. */
export class IdempotentResults {
  readonly #results = new Map<string, { command: string; result: Promise<unknown> }>();

  /** Runs a command, or returns what came of it before. Rejects with `key_reused` if the key was that of another command. */
  async once(key: string, command: string, run: () => Promise<unknown>): Promise<unknown> {
    const known = this.#results.get(key);
    if (known) {
      if (known.command === command) return await known.result;
      throw new SignalboxError('key_reused', 'this Idempotency-Key was used for another command');
    }
    const result = run();
    this.#results.set(key, { command, result });
    // A command that failed may be tried again under its key.
    result.catch(() => this.#results.delete(key));
    const [oldest] = this.#results.keys();
    if (this.#results.size > maxKeys && oldest !== undefined) this.#results.delete(oldest);
    return await result;
  }
}
