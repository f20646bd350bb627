import { type CancelSignal, SignalboxError, type ToolCallError } from '@signalbox/protocol';
import type { DefinitionKey } from '@signalbox/store/journal';
import { ServerCalls } from '../calls/server-calls.ts';
import { firstRoundOf, isUnsent, type ToolCall } from '../calls/tool-call.ts';
import { instanceFor, listingInstance } from '../config/instance-name.ts';
import type { McpServerConfig } from '../config/server-config.ts';
import { type EffectivePolicy, policyOf } from '../config/server-policy.ts';
import { judgeServer } from '../config/server-secrets.ts';
import type { SeenDefinition, ServerDefinitions } from '../definitions/server-definitions.ts';
import { emptyMcpContent, type McpContentList, type ReadMcpContent } from '../inventory/mcp-content-list.ts';
import { listLimitsOf } from '../inventory/tool-filter.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import { QuestionCounts } from '../questions/question-counts.ts';
import type { Authorizer } from '../server-auth/index.ts';
import {
  type AskingCall,
  type CallOptions,
  type NamedSecret,
  type ToolCallResult,
  unreachable,
} from '../tool-calls/index.ts';
import type { InstanceSupervisor } from './instances/instance-supervisor.ts';
import { ServerInstances } from './instances/server-instances.ts';
import { ResourceFollowers } from './resource-followers.ts';
import { readServerCard } from './server-card.ts';
import type { ServerDeps } from './server-deps.ts';
import { bestState, type ServerState, type ServerStatus, statusOf, type ToolGap } from './server-status.ts';
import { type ReadLists, ShownLists } from './shown-lists.ts';
import {
  noCallerError,
  noSlotError,
  noSlotProblem,
  unavailableError,
  unavailableProblem,
} from './unavailable.ts';
import { untilAborted } from './until-aborted.ts';

/** A wait for a process slot, in order to list the tools. */
interface SlotWait {
  /** Resolves when the wait has ended. */
  ended: Promise<void>;
  stop(): void;
}

/** One configured server, with its instances, its calls and its tools. */
export class HostedServer {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly #deps: ServerDeps;
  readonly #policy: EffectivePolicy;
  readonly #calls: ServerCalls;
  readonly #authorizer: Authorizer | undefined;
  readonly #lists: ShownLists;
  readonly #followers = new ResourceFollowers();
  readonly #questions: QuestionCounts;
  readonly #instances: ServerInstances;
  readonly #ended = new AbortController();
  /** Set while an operator or the configuration keeps it down. */
  #halted: 'stopped' | 'disabled' | undefined;
  /** True once an instance was ready with the present sign-in. */
  #isSignedIn = false;
  #cardRead: Promise<void> = Promise.resolve();
  #slotWait: SlotWait | undefined;

  /** `inherited` is shown as its list of tools until it has listed them. */
  constructor(name: string, config: McpServerConfig, deps: ServerDeps, inherited?: ToolList) {
    this.name = name;
    this.config = config;
    this.#deps = deps;
    this.#policy = policyOf(config);
    this.#calls = new ServerCalls(config, deps);
    if (config.type === 'http' && config.auth) this.#authorizer = deps.authorizerFor?.(name, config);
    const { pins, tell, onChanged } = deps;
    this.#lists = new ShownLists(
      { server: name, arePinned: config.definitions === 'pin', inherited, signal: this.#ended.signal },
      { pins, tell, onChanged, onStale: () => this.#calls.forgetAnswers() },
    );
    if (config.disabled) this.#halted = 'disabled';
    const onRead = (read: ReadLists) => this.#lists.meet(read);
    const onList = (list: ToolList) => this.#lists.takeTools(list);
    const onMcpContent = (mcpContent: ReadMcpContent) => this.#lists.takeMcpContent(mcpContent);
    const onUpdated = (key: string, uri: string) => {
      if (this.#followers.tell(key, uri)) this.#calls.forgetAnswers();
    };
    const followedBy = (key: string) => this.#followers.urisOf(key);
    const events = { onRead, onList, onMcpContent, onUpdated, followedBy, onReady: () => this.#noteSignIn() };
    this.#questions = new QuestionCounts({ server: name, now: deps.now, log: deps.log });
    const facts = { name, config, authorizer: this.#authorizer, questions: this.#questions };
    this.#instances = new ServerInstances({ ...facts, ...events }, deps);
  }

  /** Starts an instance if the tools can't be known without one. Resolves when it is up, or has failed to start. */
  async begin(): Promise<void> {
    if (this.#halted) return;
    this.#cardRead = this.#readCard();
    await this.#cardRead;
    const canWait = this.#policy.lazy && this.config.card !== undefined && this.#lists.isKnown;
    if (!canWait) await this.#learnTools();
  }

  /** Resolves when it has found, or does not need, a process slot to list its tools; see {@link begin}. */
  async slotFound(): Promise<void> {
    while (this.#slotWait) await this.#slotWait.ended;
  }

  /** Its definitions and their pins; `undefined` if they are not pinned. */
  get definitions(): ServerDefinitions | undefined {
    return this.#lists.definitions;
  }

  get state(): ServerState {
    return this.#halted ?? bestState(this.#instances.statuses());
  }

  /** True once a list of its tools is known. */
  get isKnown(): boolean {
    return this.#lists.isKnown || this.#halted === 'disabled';
  }

  /** The reason why no list of its tools is known; `undefined` once one is. */
  get gap(): ToolGap | undefined {
    if (this.isKnown) return undefined;
    if (this.#halted) return { state: 'failed', reason: 'it was stopped' };
    const { lastError } = this.#instances;
    const { state } = this;
    const isStarting = this.config.type === 'remote' && (state === 'starting' || state === 'queued');
    if (lastError === undefined || isStarting) return { state: 'starting' };
    return { state: state === 'away' || state === 'not_offered' ? 'away' : 'failed', reason: lastError };
  }

  /** The last good tool list, with the server's own problem while there is one. */
  get tools(): ToolList {
    if (this.#halted === 'disabled') return { tools: [], problems: [] };
    const { problems, ...tools } = this.#listed;
    const own = this.problem === undefined ? [] : [{ message: this.problem }];
    return { ...tools, problems: [...own, ...problems] };
  }

  /** The tools that a server which replaces this one shows until it has listed its own. */
  get heritage(): ToolList {
    const { tools, sent, changed } = this.tools;
    return { tools: tools.filter(({ name }) => !changed?.has(name)), ...(sent && { sent }), problems: [] };
  }

  /** Its prompts, resources and instructions, as far as they are known. */
  get mcpContent(): McpContentList {
    return this.#halted === 'disabled' ? emptyMcpContent() : this.#lists.mcpContent;
  }

  /** True if it has listed all its prompts and resources, or is not asked for them. */
  get isMcpContentTold(): boolean {
    return this.#halted === 'disabled' || this.#lists.isMcpContentTold;
  }

  /** The last good tool list, with the problems of the list, of the other lists and of the card. */
  get #listed(): ToolList {
    if (this.#halted === 'disabled') return { tools: [], problems: [] };
    return this.#lists.tools;
  }

  /** The present problem of the server, if it has one. */
  get problem(): string | undefined {
    if (this.#halted) return unavailableProblem(this.#halted);
    const supervisors = this.#instances.all.map(({ supervisor }) => supervisor);
    const ready = supervisors.find(({ state }) => state === 'ready');
    if (ready) return ready.problem;
    if (this.#slotWait) return noSlotProblem;
    const failing = supervisors.find(({ problem }) => problem !== undefined)?.problem;
    return failing ?? (this.#lists.isKnown ? undefined : 'not available: it has not started yet');
  }

  /** The error for a call of a tool that the server could not list. */
  get unlistedError(): ToolCallError {
    const { lastError } = this.#instances;
    const outage = this.#instances.all.findLast(({ supervisor }) => supervisor.outage)?.supervisor.outage;
    return (
      unavailableError(this.name, this.state, lastError) ??
      unreachable(this.name, lastError ?? 'it has not started yet', outage)
    );
  }

  /** Returns the status of the server. */
  status(): ServerStatus {
    const { tools, problems, changed } = this.#listed;
    return statusOf({
      name: this.name,
      config: this.config,
      state: this.state,
      instances: this.#instances.statuses(),
      toolCount: tools.length - (changed?.size ?? 0),
      toolProblems: problems,
      calls: this.#calls.stats(),
      questions: this.#questions.counts,
      auth: this.#authorizer?.state,
      lastError: this.#instances.lastError,
      startFailure: this.#instances.startFailure,
      nowMs: this.#deps.now(),
    });
  }

  /** Lists the secrets of its configuration, and the access tokens that were granted for it. */
  secrets(): readonly NamedSecret[] {
    const entry = `mcpServers.${this.name}`;
    const configured = judgeServer(this.config).flatMap(({ place, secrets }) =>
      secrets.map((value) => ({ value, source: `${entry}.${place}` })),
    );
    const known = new Set(configured.map(({ value }) => value));
    const granted = this.#authorizer?.secrets().filter((value) => !known.has(value)) ?? [];
    return [...configured, ...granted.map((value) => ({ value, source: `an access token for ${entry}` }))];
  }

  /** Returns the last 64 KiB of standard error of its processes, without secrets. */
  stderrTail(): string {
    return this.#instances.stderrTail();
  }

  /** Waits until its tools are known, unless they cannot become known. */
  async known(timeoutMs: number, signal: CancelSignal): Promise<void> {
    await untilAborted(this.#cardRead, signal);
    if (this.isKnown || this.#halted) return;
    const instance = this.#instances.obtain(this.#listingKey);
    instance?.occupy();
    await instance?.supervisor.connection(timeoutMs, signal);
    instance?.vacate();
  }

  /** Sends a call or another request to the instance that serves its caller, and starts that if needed. Never rejects. */
  async call(given: ToolCall): Promise<ToolCallResult> {
    const goingOn = this.#calls.goOn(this.name, given);
    if (goingOn) return await goingOn;
    if (given.unfit) return { error: given.unfit };
    const call = firstRoundOf(given);
    if (this.#halted) return { error: unavailableError(this.name, this.#halted, undefined)! };
    const { caller, round } = call.options;
    const key = instanceFor(this.#policy.share, caller);
    if (key === undefined) return { error: noCallerError(this.name, this.#policy.share) };
    const instance = this.#instances.obtain(key, round?.clientCapabilities);
    if (!instance) return { error: noSlotError(this.name, this.#deps.slots.max) };
    const { supervisor } = instance;
    if (supervisor.isGivenUp) return { error: this.#givenUpError(supervisor) };
    instance.occupy();
    // A call goes on while its caller is asked, and keeps its instance.
    const onAsked = (asking: AskingCall): void => {
      instance.occupy();
      asking.over.then(() => instance.vacate());
      call.options.onAsked?.(asking);
    };
    try {
      const barred = this.#lists.definitions && (() => this.#lists.changeOf(call));
      const { tool, method, args, options, deadline } = call;
      const ended = await this.#calls.call(supervisor, {
        tool,
        method,
        args,
        options,
        deadline,
        barred,
        onAsked,
      });
      const gaveUpMeanwhile = supervisor.isGivenUp && 'error' in ended && isUnsent(ended);
      return gaveUpMeanwhile ? { error: this.#givenUpError(supervisor) } : ended;
    } finally {
      instance.vacate();
    }
  }

  /** Does what {@link McpHost.acceptDefinitions} does. */
  acceptDefinitions(seen: readonly SeenDefinition[], by: string): Promise<DefinitionKey[]> {
    return this.#lists.accept(seen, by);
  }

  /**
   * Calls `onUpdated` when the instance that serves the caller says that a resource has changed; an instance that starts anew is asked
   * again. Returns the function that ends the subscription; `undefined` if no instance serves the caller.
   */
  follow(caller: CallOptions['caller'], uri: string, onUpdated: () => void): (() => void) | undefined {
    const key = instanceFor(this.#policy.share, caller);
    if (key === undefined) return undefined;
    if (this.#followers.add(key, uri, onUpdated)) this.#instances.followAnew(key);
    if (!this.#halted) this.#instances.obtain(key);
    return () => {
      if (this.#followers.remove(key, uri, onUpdated)) this.#instances.followAnew(key);
    };
  }

  /**
   * Starts the server after a stop or while it is idle, and waits until that has succeeded or failed. After a stop, the hints of its next
   * list are honoured.
   */
  async start(): Promise<void> {
    if (this.#halted === 'disabled') {
      throw new SignalboxError(
        'server_disabled',
        `server '${this.name}' is disabled in its configuration; remove its 'disabled' there`,
      );
    }
    if (this.#halted === 'stopped') this.#lists.forgetHints();
    this.#halted = undefined;
    await this.begin();
    if (this.#policy.share === 'all') await this.#learnTools();
    this.#deps.onChanged();
  }

  /** Ends the server's processes now; it stays down until it is started or reloaded. */
  async stop(): Promise<void> {
    this.#halted ??= 'stopped';
    this.#slotWait?.stop();
    await this.#instances.close();
    this.#deps.onChanged();
  }

  /**
   * Replaces the server's instances and forgets its failures, counters, cached answers and access tokens. The hints of its next list are
   * honoured.
   */
  async reload(): Promise<void> {
    if (this.#halted === 'disabled') return;
    this.#halted = undefined;
    this.#lists.forgetHints();
    this.#calls.reset();
    this.#authorizer?.forget();
    this.#isSignedIn = false;
    this.#instances.reload();
    await this.begin();
    await Promise.all(this.#instances.all.map(({ supervisor }) => supervisor.attempted));
    this.#deps.onChanged();
  }

  /** Starts the server if needed, so that its tools are known. Resolves with its problem, if it still has one. */
  async discover(): Promise<string | undefined> {
    if (!this.#halted && this.state !== 'ready') await this.#learnTools();
    return this.problem;
  }

  /** Ends the server when its running calls have ended. Resolves when its processes have exited. */
  async retire(): Promise<void> {
    this.#halted ??= 'stopped';
    this.#ended.abort();
    this.#slotWait?.stop();
    await this.#instances.retire();
  }

  /** Ends the server now. Resolves when its processes have exited. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.stop();
  }

  /** Reports the first time that the server accepts its sign-in. Later renewals of the access token are not reported. */
  #noteSignIn(): void {
    if (this.#isSignedIn || this.#authorizer?.state !== 'ready') return;
    this.#isSignedIn = true;
    this.#deps.tell({ server: this.name, change: 'signed_in' });
  }

  #givenUpError({ state, lastError }: InstanceSupervisor): ToolCallError {
    return unavailableError(this.name, state, lastError)!;
  }

  get #listingKey(): string {
    return this.#policy.share === 'all' ? '' : listingInstance;
  }

  /** Has an instance list the tools, now or as soon as there is a process slot for it. */
  async #learnTools(): Promise<void> {
    this.#slotWait?.stop();
    if (this.#halted) return;
    const instance = this.#instances.obtain(this.#listingKey);
    if (instance) return instance.supervisor.attempted;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const unsubscribe = this.#deps.slots.onSlotFree(() => {
      this.#slotWait = undefined;
      resolve(this.#learnTools());
    });
    const stop = () => {
      unsubscribe();
      this.#slotWait = undefined;
      resolve();
    };
    this.#slotWait = { ended, stop };
    this.#deps.onChanged();
  }

  async #readCard(): Promise<void> {
    if (this.config.card === undefined) return;
    const { fetch } = this.#deps;
    const options = { fetch, limits: listLimitsOf(this.config), signal: this.#ended.signal };
    const card = await readServerCard(this.config.card, options);
    await this.#lists.takeCard(card);
    this.#deps.onChanged();
  }
}
