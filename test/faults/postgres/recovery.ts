/** Measures the time until each client has done something that it began after an event. */
export class Recovery {
  readonly #at: number;
  readonly #waiting: Set<string>;
  /** The time at which each client lost its connection first. */
  readonly #lostAt = new Map<string, number>();
  readonly #done = Promise.withResolvers<void>();
  /** The time from the event, by client, in milliseconds. */
  readonly sinceEvent = new Map<string, number>();
  /** The time from the moment at which the client, or the one that it needs, lost its connection. */
  readonly sinceLoss = new Map<string, number>();
  /** The time at which the event had its effect. Work that began earlier does not count as recovery. */
  #struckAt = Number.POSITIVE_INFINITY;

  /** Begins at a time in monotonic milliseconds. */
  constructor(clients: readonly string[], at: number) {
    this.#at = at;
    this.#waiting = new Set(clients);
  }

  /** The clients that have done nothing yet. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  struck(at: number): void {
    this.#struckAt = at;
  }

  lost(client: string, at: number): void {
    if (!this.#lostAt.has(client)) this.#lostAt.set(client, at);
  }

  /** Records that a client has done something. `needs` are other clients that it needs for it. */
  succeeded(client: string, startedAt: number, at: number, needs: readonly string[] = []): void {
    if (startedAt < this.#struckAt || !this.#waiting.delete(client)) return;
    const knownAt = Math.max(
      this.#at,
      ...[client, ...needs].map((one) => this.#lostAt.get(one) ?? Number.NEGATIVE_INFINITY),
    );
    this.sinceEvent.set(client, at - this.#at);
    this.sinceLoss.set(client, at - Math.min(knownAt, at));
    if (this.#waiting.size === 0) this.#done.resolve();
  }

  /** Resolves when all have recovered, or the time is over. */
  async over(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#done.resolve(), timeoutMs);
    if (this.#waiting.size === 0) this.#done.resolve();
    await this.#done.promise;
    clearTimeout(timer);
  }
}
