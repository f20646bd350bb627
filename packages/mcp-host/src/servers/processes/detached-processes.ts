import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HostEvent } from '../../host-event.ts';
import { isStillMarked, type MarkedProcess, markedProcesses } from './marked-processes.ts';
import { endsWithin, isNotBefore } from './process-start-time.ts';

/** A process that has ended: the server that it ran, the mark in its environment, and its start time. */
export interface EndedProcess {
  server: string;
  mark: string;
  start: string;
}

/** A process that ends may start others. Those of the last round stay. */
const maxRounds = 3;

/**
 * Ends the processes that servers left behind outside their process groups. They inherited the mark of the server's process. A process
 * that has cleared its environment is not found. Linux only: elsewhere a process cannot read the environment of another.
 */
export class DetachedProcesses {
  readonly #terminateMs: number;
  readonly #log: (event: HostEvent) => void;
  /** The scan that is about to begin, and the earliest start of a process for which it is made. */
  #scan: { since: string; found: Promise<MarkedProcess[]> } | undefined;

  constructor(terminateMs: number, log: (event: HostEvent) => void) {
    this.#terminateMs = terminateMs;
    this.#log = log;
  }

  /** Ends what the process left behind: SIGTERM, and SIGKILL after `terminateMs`. Never rejects. */
  async endThoseOf(ended: EndedProcess): Promise<void> {
    for (let round = 0; round < maxRounds; round++) {
      const found = (await this.#nextScan(ended.start)).filter(
        ({ mark, start, hasTerminal, isOfOtherHost }) =>
          mark === ended.mark && isNotBefore(start, ended.start) && !hasTerminal && !isOfOtherHost,
      );
      if (found.length === 0) return;
      await Promise.all(found.map((one) => this.#end(one, ended.server)));
    }
  }

  /** Reads the marks once for all servers whose processes end in the same moment. */
  #nextScan(start: string): Promise<MarkedProcess[]> {
    if (this.#scan && isNotBefore(this.#scan.since, start)) this.#scan.since = start;
    this.#scan ??= { since: start, found: nextTurn().then(() => this.#begin()) };
    return this.#scan.found;
  }

  #begin(): Promise<MarkedProcess[]> {
    const { since } = this.#scan!;
    this.#scan = undefined;
    return markedProcesses(since);
  }

  async #end(one: MarkedProcess, server: string): Promise<void> {
    signal(one, 'SIGTERM');
    const gone = await endsWithin(one, this.#terminateMs);
    if (!gone) {
      signal(one, 'SIGKILL');
      await endsWithin(one, this.#terminateMs);
    }
    const { pid, name: program } = one;
    this.#log({
      event: 'detached_process_ended',
      server,
      pid,
      program,
      signal: gone ? 'SIGTERM' : 'SIGKILL',
    });
  }
}

/**
 * Signals the process if it still is the one that was found. Node has no pidfd, so user, mark and start time are compared again right
 * before the signal: another process could take the id only between the two calls.
 */
function signal(one: MarkedProcess, name: NodeJS.Signals): void {
  if (!isStillMarked(one)) return;
  try {
    process.kill(one.pid, name);
  } catch {
    // ESRCH: it has ended.
  }
}
