import { configOf } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import type { InstanceDeps } from '../server-deps.ts';
import type { ProcessSlots, SlotHolder } from './process-slots.ts';
import { SupervisedSession } from './supervised-session.ts';

/** Decisions follow the given clock; between them at most so long passes. */
const longestTimerMs = 60_000;
const shortestTimerMs = 5;

/** Nobody has used it for as long as it is kept; its slot is needed; it only had to list its tools; its server is gone. */
export type DropReason = 'idle' | 'slot_needed' | 'listed' | 'removed';

export interface ServerInstanceOptions {
  server: string;
  /** As calls name it; empty for everybody's. */
  key: string;
  config: McpServerConfig;
  keepAliveMs: number;
  slots: ProcessSlots;
  /** It is ending. */
  onDropped: (instance: ServerInstance, reason: DropReason) => void;
}

/** One instance of a server with who uses it: it ends when nobody has for a while, or when another needs its place. */
export class ServerInstance implements SlotHolder {
  readonly key: string;
  readonly server: SupervisedSession;
  readonly #options: ServerInstanceOptions;
  readonly #deps: InstanceDeps;
  #users = 0;
  #usedAtMs: number;
  #idleTimer: NodeJS.Timeout | undefined;
  #isDropped = false;

  constructor(options: ServerInstanceOptions, deps: InstanceDeps) {
    const { server, key, config } = options;
    this.key = key;
    this.#options = options;
    this.#deps = deps;
    this.#usedAtMs = deps.now();
    this.server = new SupervisedSession(server, key, configOf(key, config), {
      ...deps,
      onReady: () => {
        this.#onUnused();
        deps.onReady();
      },
    });
  }

  /** Starts it; false if there is no slot for its process. */
  start(): boolean {
    const { slots, config } = this.#options;
    const vacated = config.type === 'stdio' ? slots.take(this) : Promise.resolve();
    if (!vacated) return false;
    this.server.run(vacated).finally(() => slots.free(this));
    return true;
  }

  get idleSinceMs(): number | undefined {
    if (this.#users > 0) return undefined;
    if (this.#isDropped) return Number.NEGATIVE_INFINITY;
    return this.server.state === 'ready' ? this.#usedAtMs : undefined;
  }

  evict(): Promise<void> {
    return this.#isDropped ? this.server.retire() : this.drop('slot_needed');
  }

  /** Keeps it from being idle while `work` runs. */
  async lease<T>(work: () => Promise<T>): Promise<T> {
    this.occupy();
    try {
      return await work();
    } finally {
      this.vacate();
    }
  }

  /** Not idle from now on, until as many calls of {@link vacate}. */
  occupy(): void {
    this.#users++;
    clearTimeout(this.#idleTimer);
  }

  vacate(): void {
    this.#users--;
    this.#onUnused();
  }

  /** New session; see {@link SupervisedSession.reload}. False if there is no slot for its process. */
  reload(): boolean {
    return this.server.reload() ? this.start() : true;
  }

  retire(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.server.retire();
  }

  close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.server.close();
  }

  #onUnused(): void {
    this.#usedAtMs = this.#deps.now();
    if (this.#users > 0) return;
    this.#options.slots.notifyWaiters();
    this.#startIdleTimer();
  }

  #startIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    const { keepAliveMs } = this.#options;
    // What was given up is kept: it must stay so.
    if (keepAliveMs === Number.POSITIVE_INFINITY || this.server.isParked) return;
    const leftMs = this.#usedAtMs + keepAliveMs - this.#deps.now();
    if (leftMs <= 0) {
      this.drop('idle');
      return;
    }
    const timerMs = Math.min(Math.max(leftMs, shortestTimerMs), longestTimerMs);
    this.#idleTimer = setTimeout(() => this.#startIdleTimer(), timerMs).unref();
  }

  /** Ends it when the requests under way have ended. Resolves when its process has exited. */
  drop(reason: DropReason): Promise<void> {
    this.#isDropped = true;
    this.#options.onDropped(this, reason);
    return this.retire();
  }
}
