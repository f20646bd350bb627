import type { McpServerConfig } from '../config.ts';
import { HostedServer } from './hosted-server.ts';
import { configOf } from './instance-name.ts';
import type { InstanceSlots, SlotHolder } from './instance-slots.ts';
import type { InstanceSurroundings } from './server-surroundings.ts';

/** Decisions follow the given clock; between them at most so long passes. */
const longestNapMs = 60_000;
const shortestNapMs = 5;

/** Nobody has used it for as long as it is kept; its slot is needed; it only had to list its tools; its server is gone. */
export type DropReason = 'idle' | 'slot_needed' | 'listed' | 'removed';

export interface InstanceOptions {
  server: string;
  /** As calls name it; empty for everybody's. */
  key: string;
  config: McpServerConfig;
  keepAliveMs: number;
  slots: InstanceSlots;
  /** It is ending. */
  onDropped: (instance: Instance, reason: DropReason) => void;
}

/** One instance of a server with who uses it: it ends when nobody has for a while, or when another needs its place. */
export class Instance implements SlotHolder {
  readonly key: string;
  readonly server: HostedServer;
  readonly #options: InstanceOptions;
  readonly #around: InstanceSurroundings;
  #users = 0;
  #usedAtMs: number;
  #nap: NodeJS.Timeout | undefined;
  #isDropped = false;

  constructor(options: InstanceOptions, around: InstanceSurroundings) {
    const { server, key, config } = options;
    this.key = key;
    this.#options = options;
    this.#around = around;
    this.#usedAtMs = around.now();
    this.server = new HostedServer(server, key, configOf(key, config), {
      ...around,
      onReady: () => {
        this.#rest();
        around.onReady();
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

  giveWay(): Promise<void> {
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
    clearTimeout(this.#nap);
  }

  vacate(): void {
    this.#users--;
    this.#rest();
  }

  /** New session; see {@link HostedServer.reload}. False if there is no slot for its process. */
  reload(): boolean {
    return this.server.reload() ? this.start() : true;
  }

  retire(): Promise<void> {
    clearTimeout(this.#nap);
    return this.server.retire();
  }

  close(): Promise<void> {
    clearTimeout(this.#nap);
    return this.server.close();
  }

  #rest(): void {
    this.#usedAtMs = this.#around.now();
    if (this.#users > 0) return;
    this.#options.slots.tellHopefuls();
    this.#napUntilDue();
  }

  #napUntilDue(): void {
    clearTimeout(this.#nap);
    const { keepAliveMs } = this.#options;
    // What was given up is kept: it must stay so.
    if (keepAliveMs === Number.POSITIVE_INFINITY || this.server.isParked) return;
    const leftMs = this.#usedAtMs + keepAliveMs - this.#around.now();
    if (leftMs <= 0) {
      this.drop('idle');
      return;
    }
    const napMs = Math.min(Math.max(leftMs, shortestNapMs), longestNapMs);
    this.#nap = setTimeout(() => this.#napUntilDue(), napMs).unref();
  }

  /** Ends it when the requests under way have ended. Resolves when its process has exited. */
  drop(reason: DropReason): Promise<void> {
    this.#isDropped = true;
    this.#options.onDropped(this, reason);
    return this.retire();
  }
}
