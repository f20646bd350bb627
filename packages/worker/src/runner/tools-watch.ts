import type { StartTimer } from '@signalbox/client/internal';
import type { FaceSessionEvent } from '../shared-face/shim-connections.ts';

export interface ToolsWatchOptions {
  /** The longest time that an agent may be without a connection before its tools count as lost, in milliseconds. */
  lostAfterMs: number;
  startTimer: StartTimer;
  /** Called once, when a client of the agent has listed the tools. */
  onReady: () => void;
  /** Called when the agent had tools and no client of it is connected any more. */
  onLost: () => void;
  /** Called when a client is connected again after {@link onLost}. */
  onBack: () => void;
}

/** Judges from the sessions of one process of an agent whether the agent has its tools. */
export class ToolsWatch {
  readonly #options: ToolsWatchOptions;
  readonly #sessions = new Set<string>();
  #isReady = false;
  #isLost = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: ToolsWatchOptions) {
    this.#options = options;
  }

  /** Records an event of a session. Sessions that were connected before the first event do not count. */
  take({ event, consumer }: Pick<FaceSessionEvent, 'event' | 'consumer'>): void {
    if (event === 'connected') this.#connected(consumer);
    else if (!this.#sessions.has(consumer)) return;
    else if (event === 'listed') this.ready();
    else this.#ended(consumer);
  }

  /** Records that a client has listed the tools. */
  ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#options.onReady();
  }

  /** Stops reporting. */
  stop(): void {
    this.#isReady = true;
    this.#cancelTimer?.();
    this.#sessions.clear();
  }

  #connected(consumer: string): void {
    this.#sessions.add(consumer);
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (!this.#isLost) return;
    this.#isLost = false;
    this.#options.onBack();
  }

  #ended(consumer: string): void {
    this.#sessions.delete(consumer);
    if (this.#sessions.size > 0 || !this.#isReady) return;
    this.#cancelTimer = this.#options.startTimer(() => {
      this.#isLost = true;
      this.#options.onLost();
    }, this.#options.lostAfterMs);
  }
}
