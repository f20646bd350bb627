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
}

/**
 * Announces what a served agent does, as `agents` shows it: `{worker: 'serve', command, turns, waiting, running?, asking?, failing_since?,
 * failing_reason?, last_output_at?, last_output?}`. `running` has as many of the turns as a status has room for, the oldest first.
 */
export class ServeStatus {
  readonly #client: Pick<BrokerClient, 'announce'>;
  readonly #command: string;
  readonly #now: () => number;
  readonly #running = new Map<number, ShownTurn>();
  #failing: { since: number; reason: string } | undefined;
  #counts = { waiting: 0, running: 0 };
  #asking = 0;
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
    this.#running.set(turn, {
      ...{ id, from, kind },
      ...(messages.length > 1 && { messages: messages.length }),
      ...(thread !== undefined && { thread }),
      since: this.#running.get(turn)?.since ?? this.#now(),
    });
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
    const status = {
      worker: 'serve',
      command: this.#command,
      turns: this.#counts.running,
      waiting: this.#counts.waiting,
      running: [] as ShownTurn[],
      ...(this.#asking > 0 && { asking: this.#asking }),
      ...(this.#failing && {
        failing_since: this.#failing.since,
        failing_reason: this.#failing.reason.slice(0, lineLength),
      }),
      ...(this.#tail && { last_output_at: this.#outputAt, last_output: this.#tail.lastLine(lineLength) }),
    };
    for (const turn of this.#running.values()) {
      status.running.push(turn);
      if (JSON.stringify(status).length <= frameLimits.statusLength) continue;
      status.running.pop();
      break;
    }
    return status;
  }
}
