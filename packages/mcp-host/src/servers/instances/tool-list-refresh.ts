import { setTimeout as delay } from 'node:timers/promises';
import { failureOf } from '../../failures/failure.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import type { ServerConnection } from '../../sdk/connect-server.ts';
import type { InstanceDeps } from '../server-deps.ts';
import { backoffMs } from './backoff.ts';
import type { ServerCondition } from './instance-condition.ts';

/** Quiet for so long, a server may announce a change and be listened to at once. */
const calmMs = 5_000;

export interface ToolListRefreshDeps extends Pick<InstanceDeps, 'now' | 'random' | 'onList' | 'onChanged'> {
  redact: (text: string) => string;
  /** Told of the problem with the list, while there is one. */
  condition: ServerCondition;
  /** Ends all pauses. */
  stop: AbortSignal;
  /** The session to list over, while the server is ready. */
  session: () => ServerConnection | undefined;
  read: (connection: ServerConnection) => Promise<ToolList>;
}

/**
 * Reads a server's list again when it announces a change, one reading at a time; a notice that comes meanwhile makes one
 * more round, so the last list read is the latest. A server that announces all the time is read ever more rarely.
 */
export class ToolListRefresh {
  readonly #deps: ToolListRefreshDeps;
  #asked = false;
  #reading = false;
  #readAt = Number.NEGATIVE_INFINITY;
  #rounds = 0;

  constructor(deps: ToolListRefreshDeps) {
    this.#deps = deps;
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
    if (this.#deps.now() - this.#readAt >= calmMs) this.#rounds = 0;
    this.#readWhileAsked();
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true;
    for (let failures = 0; this.#asked && this.#deps.session()?.isOpen; ) {
      await this.#pause(this.#dueInMs());
      const connection = this.#deps.session();
      if (!connection?.isOpen) break;
      this.#asked = false;
      const problem = await this.#readOver(connection);
      if (connection !== this.#deps.session() || !connection.isOpen) continue;
      this.#deps.condition.problem = problem;
      this.#deps.onChanged();
      if (problem === undefined) continue;
      this.#asked = true;
      await this.#pause(backoffMs(failures++, this.#deps.random()));
    }
    this.#reading = false;
  }

  /** How long the next reading has to wait: not at all after a calm time, else longer each time. */
  #dueInMs(): number {
    const sinceMs = this.#deps.now() - this.#readAt;
    return this.#rounds === 0 ? 0 : Math.max(0, backoffMs(this.#rounds - 1, 1) - sinceMs);
  }

  async #readOver(connection: ServerConnection): Promise<string | undefined> {
    this.#rounds++;
    this.#readAt = this.#deps.now();
    try {
      const list = await this.#deps.read(connection);
      if (connection === this.#deps.session()) this.#deps.onList(list);
      return undefined;
    } catch (error) {
      const reason = this.#deps.redact(failureOf(error).reason);
      return `the tools may have changed, but could not be listed again: ${reason}`;
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await delay(ms, undefined, { signal: this.#deps.stop }).catch(() => {});
  }
}
