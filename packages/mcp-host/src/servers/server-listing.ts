import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '../connection.ts';
import { failureOf } from '../failure.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import { backoffMs } from './backoff.ts';
import type { ServerCondition } from './server-condition.ts';
import type { InstanceSurroundings } from './server-surroundings.ts';

/** Quiet for so long, a server may announce a change and be listened to at once. */
const calmMs = 5_000;

export interface ListingSurroundings
  extends Pick<InstanceSurroundings, 'now' | 'random' | 'onList' | 'onChanged'> {
  redact: (text: string) => string;
  /** Told of the problem with the list, while there is one. */
  condition: ServerCondition;
  /** Ends all pauses. */
  stop: AbortSignal;
  /** The session to list over, while the server is ready. */
  session: () => Connection | undefined;
  read: (connection: Connection) => Promise<ToolList>;
}

/**
 * Reads a server's list again when it announces a change, one reading at a time; a notice that comes meanwhile makes one
 * more round, so the last list read is the latest. A server that announces all the time is read ever more rarely.
 */
export class ToolListing {
  readonly #around: ListingSurroundings;
  #asked = false;
  #reading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #rounds = 0;

  constructor(around: ListingSurroundings) {
    this.#around = around;
  }

  /** A list is about to be read anyway, which answers every notice so far. */
  expectFirst(): void {
    this.#asked = false;
  }

  /** What was announced while the server was not ready is read now. */
  resume(): void {
    if (this.#asked) this.announce();
  }

  announce(): void {
    this.#asked = true;
    if (this.#reading) return;
    if (this.#around.now() - this.#readAt >= calmMs) this.#rounds = 0;
    this.#readWhileAsked();
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true;
    for (let failures = 0; this.#asked && this.#around.session()?.isOpen; ) {
      await this.#pause(this.#dueInMs());
      const connection = this.#around.session();
      if (!connection?.isOpen) break;
      this.#asked = false;
      const problem = await this.#readOver(connection);
      if (connection !== this.#around.session() || !connection.isOpen) continue;
      this.#around.condition.problem = problem;
      this.#around.onChanged();
      if (problem === undefined) continue;
      this.#asked = true;
      await this.#pause(backoffMs(failures++, this.#around.random()));
    }
    this.#reading = false;
  }

  /** How long the next reading has to wait: not at all after a calm time, else longer each time. */
  #dueInMs(): number {
    const sinceMs = this.#around.now() - this.#readAt;
    return this.#rounds === 0 ? 0 : Math.max(0, backoffMs(this.#rounds - 1, 1) - sinceMs);
  }

  async #readOver(connection: Connection): Promise<string | undefined> {
    this.#rounds++;
    this.#readAt = this.#around.now();
    try {
      const list = await this.#around.read(connection);
      if (connection === this.#around.session()) this.#around.onList(list);
      return undefined;
    } catch (error) {
      const reason = this.#around.redact(failureOf(error).reason);
      return `the tools may have changed, but could not be listed again: ${reason}`;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#around.stop }).catch(() => {});
  }
}
