/** Records that a session has stopped taking requests, and why. */
export class SessionLoss {
  /** True if the session takes no requests any more. */
  isLost = false;
  readonly #reason = Promise.withResolvers<string>();

  /** Resolves with the reason for the loss. */
  get reason(): Promise<string> {
    return this.#reason.promise;
  }

  /** Marks the session as lost; only the first reason counts. */
  lose(reason: string): void {
    this.isLost = true;
    this.#reason.resolve(reason);
  }
}
