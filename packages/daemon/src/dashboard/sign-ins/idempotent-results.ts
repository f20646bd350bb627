import { SignalboxError } from '@signalbox/protocol';

/** The most keys of one sign-in that are remembered; the oldest are forgotten first. */
const maxKeys = 256;

/** The time for which a secret answer is remembered, for a page whose connection broke, in milliseconds. */
const secretMs = 60_000;

/** Remembers the results of a sign-in's commands by their `Idempotency-Key`, so that a repeated command runs once. */
export class IdempotentResults {
  readonly #results = new Map<string, { command: string; result: Promise<unknown> }>();

  /** Runs a command, or returns its earlier result. Rejects with `key_reused` if the key belongs to another command. */
  async once(
    key: string,
    command: string,
    run: () => Promise<unknown>,
    { isSecret = false }: { isSecret?: boolean | undefined } = {},
  ): Promise<unknown> {
    const known = this.#results.get(key);
    if (known) {
      if (known.command === command) return await known.result;
      throw new SignalboxError(
        'key_reused',
        'this Idempotency-Key was used for another command; send a new one',
      );
    }
    const result = run();
    this.#results.set(key, { command, result });
    // A command that failed may be tried again under its key.
    result.catch(() => this.#results.delete(key));
    const [oldest] = this.#results.keys();
    if (this.#results.size > maxKeys && oldest !== undefined) this.#results.delete(oldest);
    if (isSecret) setTimeout(() => this.#forget(key), secretMs).unref();
    return await result;
  }

  /** Forgets a secret answer, but not that its command was run. */
  #forget(key: string): void {
    const known = this.#results.get(key);
    if (!known) return;
    const result = Promise.reject(
      new SignalboxError('key_reused', 'this command was run; its answer is not shown again'),
    );
    result.catch(() => {});
    this.#results.set(key, { ...known, result });
  }
}
