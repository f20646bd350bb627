import type { Authorizer } from '@signalbox/server-auth';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import type { ServerDeps } from '../server-deps.ts';
import type { InstanceReport } from './instance-condition.ts';
import type { ProcessSlots } from './process-slots.ts';
import { type DropReason, ServerInstance } from './server-instance.ts';

const stderrLetters = 64 * 1024;

export interface InstancesOptions {
  name: string;
  config: McpServerConfig;
  deps: ServerDeps;
  slots: ProcessSlots;
  authorizer: Authorizer | undefined;
  onReady: (key: string) => void;
  onList: (list: ToolList) => void;
  onChanged: () => void;
}

/** The instances of one server, by key. At most one at a time has a key, whoever asks for it at once. */
export class ServerInstances {
  readonly #options: InstancesOptions;
  readonly #present = new Map<string, ServerInstance>();
  /** They end, and take no calls any more. */
  readonly #leaving = new Map<ServerInstance, Promise<void>>();
  #lastError: string | undefined;
  #stderrTail = '';

  constructor(options: InstancesOptions) {
    this.#options = options;
  }

  get all(): ServerInstance[] {
    return [...this.#present.values()];
  }

  get(key: string): ServerInstance | undefined {
    return this.#present.get(key);
  }

  /** The instance with that key, started if there was none; `undefined` if no slot is left for its process. */
  obtain(key: string): ServerInstance | undefined {
    const present = this.#present.get(key);
    if (present) return present;
    const { name, config, deps, authorizer, slots, onReady, onList, onChanged } = this.#options;
    const { keepAliveMs } = policyOf(config);
    const instance = new ServerInstance(
      { server: name, key, config, keepAliveMs, slots, onDropped: (it, reason) => this.#forget(it, reason) },
      { ...deps, authorizer, onReady: () => onReady(key), onList, onChanged },
    );
    if (!instance.start()) return undefined;
    this.#present.set(key, instance);
    return instance;
  }

  /** New sessions for all; one that was given up and finds no slot is dropped. */
  reload(): void {
    for (const instance of this.all) if (!instance.reload()) this.#forget(instance, 'slot_needed');
  }

  /** Ends an instance once the requests under way on it have ended. */
  release(key: string, reason: DropReason): void {
    this.#present.get(key)?.drop(reason);
  }

  /** Ends all, each once the requests under way on it have ended. */
  async retire(): Promise<void> {
    for (const instance of this.all) instance.drop('removed');
    await Promise.all(this.#leaving.values());
  }

  /** Ends all now, those that are leaving too. Resolves when their processes have exited. */
  async close(): Promise<void> {
    const everyone = [...this.all, ...this.#leaving.keys()];
    for (const instance of this.all) this.#remember(instance);
    this.#present.clear();
    await Promise.all(everyone.map((instance) => instance.close()));
  }

  reports(): InstanceReport[] {
    return this.all.map((instance) => instance.server.report());
  }

  /** The latest error of an instance that is there, or of one that was. */
  get lastError(): string | undefined {
    return this.all.findLast(({ server }) => server.lastError)?.server.lastError ?? this.#lastError;
  }

  /** The last 64 KiB, evenly of all instances. */
  stderrTail(): string {
    const tails = this.all.map(({ key, server }) => ({ key, tail: server.stderrTail() }));
    if (tails.length < 2) return tails[0]?.tail ?? this.#stderrTail;
    const room = Math.floor(stderrLetters / tails.length);
    return tails
      .filter(({ tail }) => tail !== '')
      .map(({ key, tail }) => `--- ${key}\n${tail.slice(-room)}`)
      .join('\n');
  }

  #forget(instance: ServerInstance, reason: DropReason): void {
    const { name: server, deps, onChanged } = this.#options;
    this.#remember(instance);
    if (this.#present.get(instance.key) === instance) this.#present.delete(instance.key);
    const gone = instance.retire().finally(() => this.#leaving.delete(instance));
    this.#leaving.set(instance, gone);
    const facts = { server, ...(instance.key !== '' && { instance: instance.key }), reason };
    deps.log({ event: 'instance_stopped', ...facts });
    onChanged();
  }

  #remember({ server }: ServerInstance): void {
    this.#lastError = server.lastError ?? this.#lastError;
    this.#stderrTail = server.stderrTail() || this.#stderrTail;
  }
}
