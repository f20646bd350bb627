import { SignalboxError } from '@signalbox/protocol';

/** The most calls that may run at once on a server, by its name. */
export type ServerLimits = Readonly<Record<string, number>>;

/** The most calls that may run and wait at the same time. */
export interface CallLimits {
  /** The running calls of all workers together. */
  global: number;
  /** The running calls on one MCP server. */
  perServer: number;
  /** The running calls of one worker. */
  perWorker: number;
  /** The limits of single servers, which replace `perServer`. */
  servers?: ServerLimits;
  /** The waiting calls of one worker. */
  waitingPerWorker: number;
  /**
   * The running and waiting calls of all workers together. Each occupies the window of the orchestrator's inbox until it is answered, so
   * this limit is below that window.
   */
  heldCalls: number;
}

/** The window of the orchestrator's inbox for calls that run or wait for their turn: the most requests that may be pushed and not acked. */
export const inboxWindow = 1024;

export const defaultCallLimits: CallLimits = {
  global: 64,
  perServer: 16,
  perWorker: 8,
  waitingPerWorker: 64,
  heldCalls: inboxWindow - 64,
};

/** Checks limits from a configuration. Throws `SignalboxError` `bad_config`, naming the server, for an invalid one. */
export function checkServerLimits(limits: ServerLimits): void {
  for (const [server, limit] of Object.entries(limits)) {
    if (Number.isSafeInteger(limit) && limit >= 1) continue;
    const message = `concurrency.servers.${server} must be a whole number from 1, not ${limit}`;
    throw new SignalboxError('bad_config', message);
  }
}
