import { startTimer } from '@signalbox/client/internal';
import { longestTimerMs } from '@signalbox/serving';
import type { KeptProcess } from './serve-status.ts';
import type { TalkedProcess } from './talked-process.ts';
import type { TurnTask } from './turn-task.ts';

export interface KeptProcessesOptions {
  /** The time after which a process that no turn has used is ended, in milliseconds. */
  keepMs: number;
  /** The group whose messages the agents share. Any of them may take the next turn of a thread. */
  group?: string | undefined;
  /** Returns epoch milliseconds. */
  now?: () => number;
}

/** The agent and the thread of a kept process. */
interface Place {
  agent: string;
  thread: string;
}

interface Entry extends Place {
  readonly process: TalkedProcess;
  readonly since: number;
  readonly tell: TurnTask['onKeptEnded'];
  cancelTimer: () => void;
}

/** The processes of served agents that wait for the next turns of their threads. */
export class KeptProcesses {
  readonly #options: KeptProcessesOptions;
  /** The one that waits for the longest time is the first. */
  #entries: Entry[] = [];
  #changes = 0;
  readonly #closed = new Set<string>();
  readonly #listeners = new Map<string, (kept: readonly KeptProcess[]) => void>();

  constructor(options: KeptProcessesOptions) {
    this.#options = options;
  }

  /** A number that changes when rights may have changed. A process of a turn that began with another one is not kept. */
  get changes(): number {
    return this.#changes;
  }

  /** Calls `listener` with the processes that are kept for an agent, the one that waits longest first, whenever they have changed. */
  onChange(agent: string, listener: (kept: readonly KeptProcess[]) => void): void {
    this.#listeners.set(agent, listener);
  }

  /** Keeps a process after a turn. Returns false if it is not to be kept. */
  put(
    process: TalkedProcess,
    place: Place & { changes: number | undefined; tell: TurnTask['onKeptEnded'] },
  ): boolean {
    const { agent, thread, changes, tell } = place;
    if (changes !== this.#changes || this.#closed.has(agent)) return false;
    const { keepMs, now = Date.now } = this.#options;
    const entry: Entry = { process, agent, thread, since: now(), tell, cancelTimer: () => {} };
    entry.cancelTimer = startTimer(
      () => void this.#end([entry], 'no turn of its thread came in time'),
      Math.min(keepMs, longestTimerMs),
    );
    this.#entries.push(entry);
    this.#changed(agent);
    void process.exited.then(() => this.#end([entry], 'it ended by itself'));
    return true;
  }

  /** Takes the process that is kept for a thread. One of another agent can't be used, and is ended, because it has the thread's session. */
  async take({ agent, thread }: Place): Promise<TalkedProcess | undefined> {
    const { group } = this.#options;
    const entry = this.#entries.find(
      (one) => one.thread === thread && (group !== undefined || one.agent === agent),
    );
    if (!entry) return undefined;
    if (entry.agent !== agent) {
      await this.#end([entry], `${agent} goes on with its thread`);
      return undefined;
    }
    this.#remove(entry);
    return entry.process;
  }

  /** Ends the processes of an agent that wait longest, until at most so many are kept. Resolves when they have ended. */
  async leave(agent: string, most: number): Promise<void> {
    const own = this.#entries.filter((entry) => entry.agent === agent);
    await this.#end(own.slice(0, Math.max(0, own.length - most)), 'other threads have turns');
  }

  /** Ends the processes of an agent because rights have changed: those of `whose` if it names an agent, or else of everybody. */
  rightsChanged(agent: string, whose?: string): void {
    this.#changes++;
    const concerned = this.#entries.filter(
      (entry) =>
        entry.agent === agent && (whose === undefined || whose === agent || entry.process.senders.has(whose)),
    );
    void this.#end(concerned, `the rights of ${whose ?? 'agents'} may have changed`);
  }

  /** Ends the processes of an agent, and keeps no more of them. Resolves when they have ended. */
  async close(agent: string): Promise<void> {
    this.#closed.add(agent);
    await this.#end(
      this.#entries.filter((entry) => entry.agent === agent),
      'the agent is served no longer',
    );
  }

  #remove(entry: Entry): boolean {
    if (!this.#entries.includes(entry)) return false;
    entry.cancelTimer();
    this.#entries = this.#entries.filter((one) => one !== entry);
    this.#changed(entry.agent);
    return true;
  }

  #changed(agent: string): void {
    const own = this.#entries.filter((entry) => entry.agent === agent);
    this.#listeners.get(agent)?.(
      own.map(({ process, thread, since }) => ({ pid: process.pid, thread, since })),
    );
  }

  async #end(entries: readonly Entry[], why: string): Promise<void> {
    await Promise.all(
      entries.map(async (entry) => {
        if (!this.#remove(entry)) return;
        const { process, tell } = entry;
        await process.end();
        tell({ pid: process.pid, why });
      }),
    );
  }
}
