import type { Tool } from '@signalbox/protocol';
import { instanceFacts, listingInstance } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { ReadMcpContent } from '../../inventory/mcp-content-list.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import { declaredBy, declaresAll } from '../../questions/askable.ts';
import type { QuestionCounts } from '../../questions/question-counts.ts';
import type { Authorizer } from '../../server-auth/index.ts';
import type { ServerDeps } from '../server-deps.ts';
import type { InstanceStatus } from '../server-status.ts';
import type { StartFailure } from '../starts/start-failure.ts';
import { type EndReason, ServerInstance } from './server-instance.ts';

/** Returns the entries of `all` whose names are not in `tools`. */
function toolsMissing(tools: readonly Tool[], all: readonly Tool[]): Tool[] {
  const names = new Set(tools.map(({ name }) => name));
  return all.filter(({ name }) => !names.has(name));
}

const stderrCharacters = 64 * 1024;

/** The server of the instances, and the callback for its tools. */
export interface ServerInstancesOptions {
  name: string;
  config: McpServerConfig;
  authorizer: Authorizer | undefined;
  /** Counts the questions of the server. */
  questions: QuestionCounts;
  /** Called with the lists that were read from an instance, before they are taken; they are taken when it resolves. Never rejects. */
  onRead: (read: { tools?: ToolList; mcpContent?: ReadMcpContent }) => Promise<void>;
  /** Called with each tool list of an instance. */
  onList: (list: ToolList) => void;
  /** Called with an instance's prompts, resources and instructions. */
  onMcpContent: (mcpContent: ReadMcpContent) => void;
  /** Called when an instance says that a resource has changed. */
  onUpdated: (key: string, uri: string) => void;
  /** Returns the resources whose changes an instance should report. */
  followedBy: (key: string) => ReadonlySet<string>;
  /** Called when an instance is ready. */
  onReady: () => void;
}

/**
 * The instances of one hosted server, by key. There is never more than one for a key. The instance that only lists the
 * tools is ended when it has listed them.
 */
export class ServerInstances {
  readonly #options: ServerInstancesOptions;
  readonly #deps: ServerDeps;
  readonly #present = new Map<string, ServerInstance>();
  /** The instances that are ending and take no calls any more. */
  readonly #ending = new Map<ServerInstance, Promise<void>>();
  /** The last list of an instance whose server was declared everything that it may ask. */
  #complete: ToolList | undefined;
  #lastError: string | undefined;
  #stderrTail = '';

  constructor(options: ServerInstancesOptions, deps: ServerDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** All instances that take calls. */
  get all(): ServerInstance[] {
    return [...this.#present.values()];
  }

  /**
   * Returns the instance with that key, and starts it if there was none; `undefined` if no slot is left for its process. `client` holds the
   * capabilities of the client that needs it.
   */
  obtain(key: string, client?: Record<string, unknown>): ServerInstance | undefined {
    const present = this.#present.get(key);
    if (present) return present;
    const {
      name: server,
      config,
      authorizer,
      questions: counts,
      onRead,
      onList,
      onMcpContent,
      onUpdated,
      followedBy,
      ...options
    } = this.#options;
    const onReady = () => {
      options.onReady();
      if (key === listingInstance) instance.end('listed');
    };
    const onEnding = (ending: ServerInstance, reason: EndReason) => this.#forget(ending, reason);
    const { share, questions } = policyOf(config);
    const declared = declaredBy({ share, instance: key, questions }, client);
    const lists = this.#listsOf(declaresAll(declared, questions));
    const events = {
      onRead,
      onReady,
      onList: lists,
      onMcpContent,
      onUpdated: (uri: string) => onUpdated(key, uri),
    };
    const identity = { server, key, config, authorizer, declared, questions: counts };
    const instance = new ServerInstance({ ...identity, events, onEnding }, this.#deps);
    instance.supervisor.follow(followedBy(key));
    if (!instance.start()) return undefined;
    this.#present.set(key, instance);
    return instance;
  }

  /**
   * Takes the lists of one instance. Some servers list tools only to clients that can be asked. Tools that an instance for another client
   * leaves out from its start stay listed.
   */
  #listsOf(isComplete: boolean): (list: ToolList) => void {
    let leftOut: readonly Tool[] | undefined;
    return (list) => {
      if (isComplete) this.#complete = list;
      else leftOut ??= toolsMissing(list.tools, this.#complete?.tools ?? []);
      const { tools } = list;
      this.#options.onList(
        isComplete ? list : { ...list, tools: [...tools, ...toolsMissing(tools, leftOut!)] },
      );
    };
  }

  /** Makes a present instance follow the resources that are wanted now. */
  followAnew(key: string): void {
    this.#present.get(key)?.supervisor.follow(this.#options.followedBy(key));
  }

  /** Replaces all instances and forgets past errors; an instance that was given up and finds no slot ends. */
  reload(): void {
    this.#lastError = undefined;
    for (const instance of this.all) if (!instance.reload()) this.#forget(instance, 'slot_needed');
  }

  /** Ends all instances, each when its running calls have ended. Resolves when their processes have exited. */
  async retire(): Promise<void> {
    for (const instance of this.all) instance.end('removed');
    await Promise.all(this.#ending.values());
  }

  /** Ends all instances now. Resolves when their processes have exited. */
  async close(): Promise<void> {
    const instances = [...this.all, ...this.#ending.keys()];
    for (const instance of this.all) this.#remember(instance);
    this.#present.clear();
    await Promise.all(instances.map((instance) => instance.close()));
  }

  /** Returns the status of each instance. */
  statuses(): InstanceStatus[] {
    return this.all.map(({ supervisor }) => supervisor.status());
  }

  /** The latest error of a present instance, or else of an earlier one. */
  get lastError(): string | undefined {
    return (
      this.all.findLast(({ supervisor }) => supervisor.lastError)?.supervisor.lastError ?? this.#lastError
    );
  }

  /** The failure of the last start of a present instance that has not started since. */
  get startFailure(): StartFailure | undefined {
    return this.statuses().findLast(({ startFailure }) => startFailure)?.startFailure;
  }

  /** Returns the last 64 KiB of standard error, an equal share of each instance. */
  stderrTail(): string {
    const tails = this.all.map(({ key, supervisor }) => ({ key, tail: supervisor.stderrTail() }));
    if (tails.length < 2) return tails[0]?.tail ?? this.#stderrTail;
    const room = Math.floor(stderrCharacters / tails.length);
    return tails
      .filter(({ tail }) => tail !== '')
      .map(({ key, tail }) => `--- ${key}\n${tail.slice(-room)}`)
      .join('\n');
  }

  #forget(instance: ServerInstance, reason: EndReason): void {
    this.#remember(instance);
    if (this.#present.get(instance.key) === instance) this.#present.delete(instance.key);
    const ended = instance.retire().finally(() => this.#ending.delete(instance));
    this.#ending.set(instance, ended);
    const facts = instanceFacts(this.#options.name, instance.key);
    this.#deps.log({ event: 'instance_stopped', ...facts, reason });
    this.#deps.onChanged();
  }

  #remember({ supervisor }: ServerInstance): void {
    this.#lastError = supervisor.lastError ?? this.#lastError;
    this.#stderrTail = supervisor.stderrTail() || this.#stderrTail;
  }
}
