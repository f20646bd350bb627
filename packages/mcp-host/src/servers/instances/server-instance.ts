import { instanceConfig, namesDataFolder } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { Declared } from '../../questions/askable.ts';
import type { QuestionCounts } from '../../questions/question-counts.ts';
import type { Authorizer } from '../../server-auth/index.ts';
import type { SlotHolder } from '../processes/process-slots.ts';
import type { ServerDeps } from '../server-deps.ts';
import { InstanceSupervisor, type SupervisorEvents } from './instance-supervisor.ts';

/** The longest time between two checks of the idle time, in milliseconds. The given clock measures the idle time, and a timer checks it. */
const longestTimerMs = 60_000;
const shortestTimerMs = 5;

/**
 * The reason why an instance ends. `idle`: it was unused for as long as it is kept. `slot_needed`: another instance needs its slot.
 * `listed`: it only had to list the tools. `removed`: its server was removed.
 */
export type EndReason = 'idle' | 'slot_needed' | 'listed' | 'removed';

/** The server of an instance, its place in that server, and its callbacks. */
export interface ServerInstanceOptions {
  /** The name of the server in the configuration. */
  server: string;
  /** The name of the instance; empty for the one that serves all callers. */
  key: string;
  /** The configuration of the server. */
  config: McpServerConfig;
  authorizer: Authorizer | undefined;
  declared: Declared;
  questions: QuestionCounts;
  events: SupervisorEvents;
  /** Called when the instance begins to end. */
  onEnding: (instance: ServerInstance, reason: EndReason) => void;
}

/**
 * One instance of a hosted server. It counts its users, and ends when it was idle for as long as it is kept or when another instance needs
 * its slot.
 */
export class ServerInstance implements SlotHolder {
  readonly key: string;
  readonly supervisor: InstanceSupervisor;
  readonly #options: ServerInstanceOptions;
  readonly #deps: ServerDeps;
  readonly #keepAliveMs: number;
  #users = 0;
  #usedAtMs: number;
  #idleTimer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(options: ServerInstanceOptions, deps: ServerDeps) {
    const { server, key, config, authorizer, declared, questions, events } = options;
    this.key = key;
    this.#options = options;
    this.#deps = deps;
    this.#keepAliveMs = policyOf(config).keepAliveMs;
    this.#usedAtMs = deps.now();
    const dataFolder = namesDataFolder(config) ? deps.dataFolderOf(server) : undefined;
    const own = instanceConfig(key, config, dataFolder);
    const identity = {
      name: server,
      instance: key,
      config: own,
      dataFolder,
      authorizer,
      declared,
      questions,
    };
    const onReady = () => {
      this.#touch();
      events.onReady();
    };
    this.supervisor = new InstanceSupervisor(identity, deps, { ...events, onReady });
  }

  /** Starts the instance. Returns false if there is no slot for its process. */
  start(): boolean {
    const { slots } = this.#deps;
    const vacated = this.#options.config.type === 'stdio' ? slots.take(this) : Promise.resolve();
    if (!vacated) return false;
    this.supervisor.run(vacated).finally(() => slots.free(this));
    return true;
  }

  get idleSinceMs(): number | undefined {
    if (this.#users > 0) return undefined;
    // An instance that is ending is evicted before all others.
    if (this.#isEnding) return Number.NEGATIVE_INFINITY;
    return this.supervisor.state === 'ready' ? this.#usedAtMs : undefined;
  }

  evict(): Promise<void> {
    return this.#isEnding ? this.supervisor.retire() : this.end('slot_needed');
  }

  /** Keeps the instance from being idle until {@link vacate} was called as many times. */
  occupy(): void {
    this.#users++;
    clearTimeout(this.#idleTimer);
  }

  /** Undoes one {@link occupy}. */
  vacate(): void {
    this.#users--;
    this.#touch();
  }

  /** Replaces what runs; see {@link InstanceSupervisor.reload}. Returns false if there is no slot for its process. */
  reload(): boolean {
    return this.supervisor.reload() ? this.start() : true;
  }

  /** Ends the instance when its running calls have ended, and tells its server. Resolves when its process has exited. */
  end(reason: EndReason): Promise<void> {
    this.#isEnding = true;
    this.#options.onEnding(this, reason);
    return this.retire();
  }

  /** Ends the instance when its running calls have ended. Resolves when its process has exited. */
  retire(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.supervisor.retire();
  }

  /** Ends the instance now. Resolves when its process has exited. */
  close(): Promise<void> {
    clearTimeout(this.#idleTimer);
    return this.supervisor.close();
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
    if (this.supervisor.isGivenUp) return;
    const leftMs = this.#usedAtMs + this.#keepAliveMs - this.#deps.now();
    if (leftMs <= 0) {
      this.end('idle');
      return;
    }
    const waitMs = Math.min(Math.max(leftMs, shortestTimerMs), longestTimerMs);
    this.#idleTimer = setTimeout(() => this.#startIdleTimer(), waitMs).unref();
  }
}
