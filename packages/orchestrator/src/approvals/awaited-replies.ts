import type { McpReply } from '@signalbox/protocol';

/** Requests that wait for the replies to calls of other requests, by the approvals of these calls. */
export class AwaitedReplies {
  readonly #waiting = new Map<string, Set<(reply: McpReply | 'left' | undefined) => void>>();
  #isClosed = false;

  /**
   * Resolves with the reply to an approval's call, with `left` if the caller of that call waits no longer, or with `undefined` if the signal
   * aborts or this is closed first.
   */
  async wait(approval: string, signal: AbortSignal): Promise<McpReply | 'left' | undefined> {
    if (this.#isClosed || signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<McpReply | 'left' | undefined>();
    const abort = () => resolve(undefined);
    const waiting = this.#waiting.get(approval) ?? new Set();
    this.#waiting.set(approval, waiting.add(resolve));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', abort);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(approval);
    }
  }

  /** Gives the reply to the requests that wait for it, or tells them that the caller of the call waits no longer. */
  answered(approval: string, reply: McpReply | 'left'): void {
    for (const resolve of this.#waiting.get(approval) ?? []) resolve(reply);
  }

  /** Ends every wait. */
  close(): void {
    this.#isClosed = true;
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve(undefined);
  }
}
