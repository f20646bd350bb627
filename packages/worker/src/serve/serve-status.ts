import type { BrokerClient } from '@signalbox/client';
import { frameLimits } from '@signalbox/protocol';
import type { OutputTail } from '../runner/output/output-tail.ts';
import type { TurnMessage } from './serve-event.ts';

const lineLength = 120;

/** A turn that runs: its first message, their number if there are several, and their thread. `since` in epoch milliseconds. */
interface ShownTurn extends Pick<TurnMessage, 'id' | 'from' | 'kind'> {
  messages?: number;
  thread?: string;
  since: number;
  calls?: OpenCall[];
}

/** A use of a tool that has not ended. */
export interface OpenCall {
  title: string;
  status: string;
}

/** A process that waits for the next turn of its thread. `since` in epoch milliseconds. */
export interface KeptProcess {
  pid: number | undefined;
  thread: string;
  since: number;
}

/** The most open uses of tools that are shown of one turn. */
const maxCalls = 8;
const titleLength = 80;

/**
 * Announces what a served agent does, as `agents` shows it: `{worker: 'serve', command, turns, waiting, asking?, kept?, failing_since?,
 * failing_reason?, last_output_at?, last_output?, private: {running, kept?}}`. `running` has as many of the turns and their open uses of
 * tools as a status has room for, the oldest first, and `kept` as many of the processes as fit then. They are private: who knows the name
 * of a thread may write to it.
 */
export class ServeStatus {
  readonly #client: Pick<BrokerClient, 'announce'>;
  readonly #command: string;
  readonly #now: () => number;
  readonly #running = new Map<number, { shown: ShownTurn; calls: () => readonly OpenCall[] }>();
  #failing: { since: number; reason: string } | undefined;
  #counts = { waiting: 0, running: 0 };
  #asking = 0;
  #kept: readonly KeptProcess[] = [];
  #tail: OutputTail | undefined;
  #outputAt: number | undefined;

  /** Begins with no turn. `now` returns epoch milliseconds. */
  constructor(client: Pick<BrokerClient, 'announce'>, command: string, now: () => number = Date.now) {
    this.#client = client;
    this.#command = command;
    this.#now = now;
    this.#announce();
  }

  /** Records the number of waiting messages and running turns. */
  counts(counts: { waiting: number; running: number }): void {
    this.#counts = counts;
    this.#announce();
  }

  /** Records that the program of a turn was started. A turn may start it twice. */
  turnStarted(turn: number, messages: readonly TurnMessage[], thread: string | undefined): void {
    const [first] = messages;
    if (!first) return;
    const { id, from, kind } = first;
    const shown = {
      ...{ id, from, kind },
      ...(messages.length > 1 && { messages: messages.length }),
      ...(thread !== undefined && { thread }),
      since: this.#running.get(turn)?.shown.since ?? this.#now(),
    };
    this.#running.set(turn, { shown, calls: () => [] });
    this.#announce();
  }

  /** Records that the open uses of tools of a turn have changed. `calls` returns them. */
  toolsUsed(turn: number, calls: () => readonly OpenCall[]): void {
    const running = this.#running.get(turn);
    if (running) this.#running.set(turn, { ...running, calls });
    this.#announce();
  }

  /** Records that a turn has ended. */
  turnEnded(turn: number): void {
    if (this.#running.delete(turn)) this.#announce();
  }

  /** Records that a question of a turn begins to wait for a person (1), or no longer waits (-1). */
  asking(change: 1 | -1): void {
    this.#asking += change;
    this.#announce();
  }

  /** Records the processes that wait for the next turns of their threads. */
  kept(processes: readonly KeptProcess[]): void {
    this.#kept = processes;
    this.#announce();
  }

  /** Records that the program is failing, and why; `undefined` if it works again. */
  failing(reason: string | undefined): void {
    const since = this.#failing?.since ?? this.#now();
    this.#failing = reason === undefined ? undefined : { since, reason };
    this.#announce();
  }

  /** Records that a turn has written output. */
  output(tail: OutputTail): void {
    this.#tail = tail;
    this.#outputAt = this.#now();
    this.#announce();
  }

  #announce(): void {
    // It is put together when it is sent, at most once a second: a program may print without end.
    this.#client.announce({ toJSON: () => this.#status() });
  }

  #status(): object {
    const running: ShownTurn[] = [];
    const kept: KeptProcess[] = [];
    const status = {
      worker: 'serve',
      command: this.#command,
      turns: this.#counts.running,
      waiting: this.#counts.waiting,
      ...(this.#asking > 0 && { asking: this.#asking }),
      ...(this.#kept.length > 0 && { kept: this.#kept.length }),
      ...(this.#failing && {
        failing_since: this.#failing.since,
        failing_reason: this.#failing.reason.slice(0, lineLength),
      }),
      ...(this.#tail && { last_output_at: this.#outputAt, last_output: this.#tail.lastLine(lineLength) }),
      private: { running, ...(this.#kept.length > 0 && { kept }) },
    };
    const isTooLong = (): boolean => JSON.stringify(status).length > frameLimits.statusLength;
    const turns = [...this.#running.values()];
    const addWhileFits = <T>(list: T[], items: readonly T[]): void => {
      for (const item of items) {
        list.push(item);
        if (!isTooLong()) continue;
        list.pop();
        return;
      }
    };
    addWhileFits(
      running,
      turns.map(({ shown }) => ({ ...shown })),
    );
    addWhileFits(kept, this.#kept);
    for (const [at, turn] of running.entries()) {
      const calls = turns[at]?.calls() ?? [];
      for (const { title, status: state } of calls.slice(0, maxCalls)) {
        const before = turn.calls;
        turn.calls = [...(before ?? []), { title: title.slice(0, titleLength), status: state.slice(0, 20) }];
        if (!isTooLong()) continue;
        if (before) turn.calls = before;
        else delete turn.calls;
        return status;
      }
    }
    return status;
  }
}
