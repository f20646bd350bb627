import { SignalboxError } from '@signalbox/protocol';

const MiB = 1024 * 1024;

/** Calls that run at once on a server, by its name. */
export type ServerLimits = Readonly<Record<string, number>>;

/** How many calls may run and wait. */
export interface CallLimits {
  /** Calls that run at once: in all, on one MCP server, for one worker. */
  global: number;
  perServer: number;
  perWorker: number;
  /** Instead of `perServer`, by the server's name. */
  servers?: ServerLimits;
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

/** Throws `SignalboxError` `bad_config`, naming the server, for a limit that makes no sense. */
export function checkServerLimits(limits: ServerLimits): void {
  for (const [server, limit] of Object.entries(limits)) {
    if (Number.isSafeInteger(limit) && limit >= 1) continue;
    const message = `concurrency.servers.${server} must be a whole number from 1, not ${limit}`;
    throw new SignalboxError('bad_config', message);
  }
}
