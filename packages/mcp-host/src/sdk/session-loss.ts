/** Records that a session has stopped taking requests, and why. */
export class SessionLoss {
  readonly #reason = Promise.withResolvers<string>();
  #isLost = false;

  /** Whether the session takes no requests any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Resolves with the reason of the loss. */
  get reason(): Promise<string> {
    return this.#reason.promise;
  }

  /** Marks the session as lost; only the first reason counts. */
  lose(reason: string): void {
    this.#isLost = true;
    this.#reason.resolve(reason);
  }
}
