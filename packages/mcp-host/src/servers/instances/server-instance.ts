import type { Authorizer } from '@signalbox/server-auth';
import { instanceConfig } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { SlotHolder } from '../processes/process-slots.ts';
import type { ServerDeps } from '../server-deps.ts';
import { type SessionEvents, SupervisedSession } from './supervised-session.ts';

/** Idle time is measured on the given clock; a timer looks at it after at most so long. */
const longestTimerMs = 60_000;
const shortestTimerMs = 5;

/**
 * Why an instance ends: nobody used it for as long as it is kept; another one needs its slot; it only had to list its
 * tools; its server was removed.
 */
export type EndReason = 'idle' | 'slot_needed' | 'listed' | 'removed';

/** What an instance is made of. */
export interface ServerInstanceOptions {
  /** The name of the server in the configuration. */
  server: string;
  /** The name of the instance; empty for the one that serves everybody. */
  key: string;
  /** The configuration of the server. */
  config: McpServerConfig;
  authorizer: Authorizer | undefined;
  events: SessionEvents;
  /** Called when the instance begins to end. */
  onEnding: (instance: ServerInstance, reason: EndReason) => void;
}

/**
 * One instance of a hosted server. It knows whether it is in use, and ends when it was idle for long or another needs
 * its slot.
 */
export class ServerInstance implements SlotHolder {
  readonly key: string;
  readonly session: SupervisedSession;
  readonly #options: ServerInstanceOptions;
  readonly #deps: ServerDeps;
  readonly #keepAliveMs: number;
  #users = 0;
  #usedAtMs: number;
  #idleTimer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(options: ServerInstanceOptions, deps: ServerDeps) {
    const { server, key, config, authorizer, events } = options;
    this.key = key;
    this.#options = options;
    this.#deps = deps;
    this.#keepAliveMs = policyOf(config).keepAliveMs;
    this.#usedAtMs = deps.now();
    const identity = { name: server, instance: key, config: instanceConfig(key, config), authorizer };
    const onReady = () => {
      this.#touch();
      events.onReady();
    };
    this.session = new SupervisedSession(identity, deps, { ...events, onReady });
  }

  /** Starts it. Returns false if there is no slot for its process. */
  start(): boolean {
    const { slots } = this.#deps;
    const vacated = this.#options.config.type === 'stdio' ? slots.take(this) : Promise.resolve();
    if (!vacated) return false;
    this.session.run(vacated).finally(() => slots.free(this));
    return true;
  }

  get idleSinceMs(): number | undefined {
    if (this.#users > 0) return undefined;
    if (this.#isEnding) return Number.NEGATIVE_INFINITY;
    return this.session.state === 'ready' ? this.#usedAtMs : undefined;
  }

  evict(): Promise<void> {
    return this.#isEnding ? this.session.retire() : this.end('slot_needed');
  }

  /** Keeps it from being idle until {@link vacate} was called as many times. */
  occupy(): void {
    this.#users++;
    clearTimeout(this.#idleTimer);
  }

  vacate(): void {
    this.#users--;
    this.#touch();
  }

  /** Replaces its session; see {@link SupervisedSession.reload}. Returns false if there is no slot for its process. */
  reload(): boolean {
    return this.session.reload() ? this.start() : true;
  }

  /** Ends it when the calls under way have ended, and tells its server. Resolves when its process has exited. */
  end(reason: EndReason): Promise<void> {
    this.#isEnding = true;
    this.#options.onEnding(this, reason);
    return this.retire();
  }

  /** Ends it when the calls under way have ended. Resolves when its process has exited. */
  retire(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.session.retire();
  }

  /** Ends it now. Resolves when its process has exited. */
  close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.session.close();
  }

  #touch(): void {
    this.#usedAtMs = this.#deps.now();
    if (this.#users > 0) return;
    this.#deps.slots.announceFreeSlot();
    if (this.#keepAliveMs < Number.POSITIVE_INFINITY) this.#startIdleTimer();
  }

  #startIdleTimer(): void {
    clearTimeout(this.#idleTimer);
    // An instance that was given up is kept, so that it stays given up.
    if (this.session.isParked) return;
    const leftMs = this.#usedAtMs + this.#keepAliveMs - this.#deps.now();
    if (leftMs <= 0) {
      this.end('idle');
      return;
    }
    const timerMs = Math.min(Math.max(leftMs, shortestTimerMs), longestTimerMs);
    this.#idleTimer = setTimeout(() => this.#startIdleTimer(), timerMs).unref();
  }
}
