const MiB = 1024 * 1024;

/** How many calls may run and wait. */
export interface CallLimits {
  /** Calls that run at once: in all, on one MCP server, for one worker. */
  global: number;
  perServer: number;
  perWorker: number;
  /** Calls of one worker that may wait for a free place. */
  waitingPerWorker: number;
  /**
   * Calls that run and wait, of all workers together, and the bytes of their requests. Each holds a place in the
   * window of the orchestrator's inbox until it is answered, so these stay below that window.
   */
  heldCalls: number;
  heldBytes: number;
}

/** What the orchestrator's inbox may have pushed and not acked, in messages and bytes. */
export const inboxWindow = { window: 1024, windowBytes: 64 * MiB } as const;

export const defaultCallLimits: CallLimits = {
  global: 64,
  perServer: 16,
  perWorker: 8,
  waitingPerWorker: 64,
  heldCalls: inboxWindow.window - 64,
  // Room for one more message of the largest size that the broker takes by default.
  heldBytes: inboxWindow.windowBytes - 4 * MiB,
};
