import { SignalboxError, type Tool } from '@signalbox/protocol';
import type { Authorizer } from '@signalbox/server-auth';
import { ServerCalls } from '../calls/server-calls.ts';
import type { CallOptions, ToolCallResult } from '../calls/tool-call.ts';
import { instanceFor, listingInstance } from '../config/instance-name.ts';
import type { HttpServerConfig, McpServerConfig } from '../config/server-config.ts';
import { type EffectivePolicy, policyOf } from '../config/server-policy.ts';
import type { ServerState, ServerStatus } from '../host/host-api.ts';
import type { ToolList, ToolProblem } from '../inventory/tool-list.ts';
import type { ProcessSlots } from './instances/process-slots.ts';
import type { ServerInstance } from './instances/server-instance.ts';
import { ServerInstances } from './instances/server-instances.ts';
import { orAborted } from './instances/start-server.ts';
import { readServerCard } from './server-card.ts';
import type { ServerDeps } from './server-deps.ts';
import { noCallerError, noSlot, noSlotError, refusalOf, stateProblem } from './server-refusal.ts';
import { bestState, statusOf } from './server-status.ts';
import { ServerTools } from './server-tools.ts';

export interface HostedServerDeps extends ServerDeps {
  slots: ProcessSlots;
  fetch: typeof fetch;
  authorizerFor: ((name: string, config: HttpServerConfig) => Authorizer | undefined) | undefined;
  /** {@link HostedServer.offer} may read differently now. */
  onChanged: () => void;
}

/** One configured server: its instances, its calls, and what is known of its tools. */
export class HostedServer {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly #deps: HostedServerDeps;
  readonly #policy: EffectivePolicy;
  readonly #calls: ServerCalls;
  readonly #authorizer: Authorizer | undefined;
  readonly #tools: ServerTools;
  readonly #instances: ServerInstances;
  readonly #ended = new AbortController();
  /** Set while it is down on purpose. */
  #halted: 'stopped' | 'disabled' | undefined;
  #card: Promise<void> = Promise.resolve();
  #cardProblem: string | undefined;
  /** Pending while no process may be started to list the tools. */
  #slotWait: Promise<void> | undefined;
  #stopWaitingForSlot = () => {};

  /** `inherited`: what stands in for its tools until it has listed them. */
  constructor(name: string, config: McpServerConfig, deps: HostedServerDeps, inherited?: ToolList) {
    this.name = name;
    this.config = config;
    this.#deps = deps;
    this.#policy = policyOf(config);
    this.#calls = new ServerCalls(config, { now: deps.now, log: deps.log });
    if (config.type === 'http' && config.auth) this.#authorizer = deps.authorizerFor?.(name, config);
    this.#tools = new ServerTools(inherited);
    if (config.disabled) this.#halted = 'disabled';
    this.#instances = new ServerInstances({
      name,
      config,
      deps,
      slots: deps.slots,
      authorizer: this.#authorizer,
      onReady: (key) => this.#onReady(key),
      onList: (list) => {
        if (this.#tools.list(list)) this.#calls.forgetTools();
      },
      onChanged: deps.onChanged,
    });
  }

  /** Starts what has to run for the tools to be known. Resolves when that is up, or has failed to. */
  async begin(): Promise<void> {
    if (this.#halted) return;
    this.#card = this.#readCard();
    await this.#card;
    const canWait = this.#policy.lazy && this.config.card !== undefined && this.#tools.isKnown;
    if (!canWait) await this.#learn();
  }

  /** Resolves when it has found, or does not need, a process to list its tools; see {@link begin}. */
  async slotFound(): Promise<void> {
    while (this.#slotWait) await this.#slotWait;
  }

  get state(): ServerState {
    return this.#halted ?? bestState(this.#instances.reports());
  }

  /** False until anything is known of its tools. */
  get isKnown(): boolean {
    return this.#tools.isKnown || this.#halted === 'disabled';
  }

  /** The last good list, with the server's own problem while there is one. */
  get offer(): ToolList {
    if (this.#halted === 'disabled') return { tools: [], problems: [] };
    const { tools, problems } = this.#tools.current;
    const own = [this.problem, this.#cardProblem].filter((message) => message !== undefined);
    return { tools, problems: [...own.map((message): ToolProblem => ({ message })), ...problems] };
  }

  /** What is the matter with it, if anything is. */
  get problem(): string | undefined {
    if (this.#halted) return stateProblem(this.#halted);
    const { all } = this.#instances;
    const ready = all.find(({ server }) => server.state === 'ready');
    if (ready) return ready.server.problem;
    if (this.#slotWait) return noSlot;
    const failing = all.find(({ server }) => server.problem !== undefined)?.server.problem;
    return failing ?? (this.#tools.isKnown ? undefined : 'not available: it has not started yet');
  }

  status(): ServerStatus {
    return statusOf({
      name: this.name,
      config: this.config,
      state: this.state,
      instances: this.#instances.reports(),
      toolCount: this.offer.tools.length,
      calls: this.#calls.stats(),
      auth: this.#authorizer?.state,
      lastError: this.#instances.lastError,
      nowMs: this.#deps.now(),
    });
  }

  stderrTail(): string {
    return this.#instances.stderrTail();
  }

  /** Why it takes no call now, in a word for the caller; `undefined` when it may. */
  get refusal() {
    return refusalOf(this.name, this.state, this.#instances.lastError);
  }

  /** Waits until its tools are known, if they are going to be. */
  async known(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await orAborted(this.#card, signal);
    if (this.isKnown || this.#halted) return;
    const instance = this.#instances.obtain(this.#listingKey);
    await instance?.lease(() => instance.server.connection(timeoutMs, signal));
  }

  /** Never rejects. */
  async call(tool: Tool, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult> {
    if (this.#halted) return { error: this.refusal! };
    const key = instanceFor(this.#policy.share, options.caller);
    if (key === undefined) return { error: noCallerError(this.name, this.#policy.share) };
    const instance = this.#instances.obtain(key);
    if (!instance) return { error: noSlotError(this.name, this.#deps.slots.max) };
    const parked = () => refusalOf(this.name, instance.server.state, instance.server.lastError);
    const refusal = parked();
    if (refusal) return { error: refusal };
    instance.occupy();
    try {
      const outcome = await this.#calls.call(instance.server, tool, args, options);
      if (!('error' in outcome)) return outcome;
      const unsent = outcome.error.code === 'mcp_server_unreachable' && !outcome.error.may_have_run;
      return { error: (unsent ? parked() : undefined) ?? outcome.error };
    } finally {
      instance.vacate();
    }
  }

  /** Takes it up again after a stop, or starts it if it is idle; waits until that has succeeded or failed. */
  async start(): Promise<void> {
    if (this.#halted === 'disabled') {
      throw new SignalboxError('server_disabled', `server '${this.name}' is disabled in its configuration`);
    }
    this.#halted = undefined;
    await this.begin();
    if (this.#policy.share === 'all') await this.#learn();
    this.#deps.onChanged();
  }

  async stop(): Promise<void> {
    this.#halted ??= 'stopped';
    this.#stopWaitingForSlot();
    await this.#instances.close();
    this.#deps.onChanged();
  }

  async reload(): Promise<void> {
    if (this.#halted === 'disabled') return;
    this.#halted = undefined;
    this.#calls.reset();
    this.#authorizer?.forget();
    this.#instances.reload();
    await this.begin();
    await Promise.all(this.#instances.all.map(({ server }) => server.attempted));
    this.#deps.onChanged();
  }

  /** Lists its tools again, starting it if need be; its problem, if it has one then. */
  async discover(): Promise<string | undefined> {
    if (!this.#halted && this.state !== 'ready') await this.#learn();
    return this.problem;
  }

  /** Ends it once the calls under way have ended. Resolves when its processes have exited. */
  async retire(): Promise<void> {
    this.#halted ??= 'stopped';
    this.#ended.abort();
    this.#stopWaitingForSlot();
    await this.#instances.retire();
  }

  /** Ends it now. Resolves when its processes have exited. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.stop();
  }

  get #listingKey(): string {
    return this.#policy.share === 'all' ? '' : listingInstance;
  }

  /** Has an instance list the tools. Without a slot for it, that happens when there is one. */
  async #learn(): Promise<void> {
    this.#stopWaitingForSlot();
    if (this.#halted) return;
    const instance: ServerInstance | undefined = this.#instances.obtain(this.#listingKey);
    if (instance) return instance.server.attempted;
    const { promise, resolve } = Promise.withResolvers<void>();
    const forget = this.#deps.slots.onSlotFree(() => {
      this.#stopWaitingForSlot = () => {};
      this.#slotWait = undefined;
      resolve(this.#learn());
    });
    this.#slotWait = promise;
    this.#stopWaitingForSlot = () => {
      forget();
      this.#slotWait = undefined;
      resolve();
    };
    this.#deps.onChanged();
  }

  #onReady(key: string): void {
    if (key === listingInstance) this.#instances.release(key, 'listed');
  }

  async #readCard(): Promise<void> {
    if (this.config.card === undefined) return;
    const card = await readServerCard(this.config.card, this.#deps.fetch, this.#ended.signal);
    this.#cardProblem = 'problem' in card ? card.problem : undefined;
    if ('list' in card) this.#tools.promise(card.list);
    this.#deps.onChanged();
  }
}
