import {
  type BrokerClient,
  connectBroker,
  type Log,
  type ParsedMessage,
  type RequestOptions,
  requestAddress,
} from '@signalbox/client';
import {
  type CallRound,
  type Fault,
  type MailboxAccess,
  messageOf,
  noFault,
  type Tool,
  toolCallError,
} from '@signalbox/protocol';
import { closest } from 'fastest-levenshtein';
import { asksForInput, type CallResult, callResultOf, type RoundResult } from './call-result.ts';
import { requestManifest } from './manifest-request.ts';
import { callBody, type ExecuteOptions, relayProgress, type ToolCall, unlistedTool } from './tool-call.ts';

const defaultCallTimeoutMs = 300_000;
const defaultManifestTimeoutMs = 30_000;

/** Where the broker is, who we are to it, and how long to wait. Times in milliseconds. */
export interface ExecutorOptions {
  url: string;
  token: string;
  /** Asked for another token of the same agent when this one is revoked or has expired; its role is ours then. */
  renewToken?: () => Promise<string | undefined>;
  /** Agent id that the token is for; a sub-inbox of it is taken for the replies. */
  agent: string;
  /** Agent id of the orchestrator; default `orchestrator`. */
  orchestrator?: string;
  /** Deadline of a call, waiting included; default 5 min. If given, it is also the tool's own timeout. */
  timeoutMs?: number;
  /** How long to wait for a list of tools, also while no orchestrator is connected; default 30 s. */
  manifestTimeoutMs?: number;
  signal?: AbortSignal;
  /** Keep trying a broker that cannot be reached yet. */
  waitForBroker?: boolean;
  log?: Log;
  /** Told of `worker.call.sent` and `worker.reply.received`. */
  fault?: Fault;
}

/**
 * A worker's way to the tools that the orchestrator hosts: the list its role may see, and calls that run
 * concurrently over one connection. The list follows the orchestrator's while connected.
 */
export class McpProxyExecutor implements AsyncDisposable {
  readonly #client: BrokerClient;
  readonly #options: ExecutorOptions;
  readonly #orchestrator: string;
  readonly #log: Log;
  readonly #fault: Fault;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #detach: (() => void)[];
  #tools = new Map<string, Tool>();
  #version = '';
  #hasUnlisted = false;
  #mailbox: MailboxAccess | undefined;
  #refreshing: Promise<boolean> | undefined;
  #refreshNext: Promise<boolean> | undefined;

  private constructor(client: BrokerClient, options: ExecutorOptions) {
    this.#client = client;
    this.#options = options;
    this.#orchestrator = options.orchestrator ?? 'orchestrator';
    this.#log = options.log ?? (() => {});
    this.#fault = options.fault ?? noFault;
    this.#detach = [
      client.onMessage((message) => this.#onMessage(message)),
      client.onState((state) => {
        if (state.name === 'ready') this.#refreshInBackground();
      }),
    ];
  }

  /** Connects and fetches the list of tools. Throws `SignalboxError` if either fails; nothing stays open then. */
  static async connect(options: ExecutorOptions): Promise<McpProxyExecutor> {
    const { url, token, renewToken, agent, signal, waitForBroker, log } = options;
    const client = await connectBroker({
      url,
      token,
      agent: requestAddress(agent),
      backoff: 'worker',
      ...(renewToken && { renewToken }),
      ...(signal && { signal }),
      ...(waitForBroker !== undefined && { waitForBroker }),
      ...(log && { log }),
    });
    const executor = new McpProxyExecutor(client, options);
    try {
      await executor.refresh();
      return executor;
    } catch (thrown) {
      await executor.close();
      throw thrown;
    }
  }

  /** The connection under it, on a sub-inbox of the agent: for asks and messages of one's own. Closed with the executor. */
  get client(): BrokerClient {
    return this.#client;
  }

  /** Our agent id. */
  get agent(): string {
    return this.#client.agent;
  }

  /** Our role, as the broker attests it; another token may bring another. */
  get role(): string {
    return this.#client.role;
  }

  /** Agent id of the orchestrator whose tools these are. */
  get orchestrator(): string {
    return this.#orchestrator;
  }

  /** The tools our role may call, in the orchestrator's order. */
  listTools(): Tool[] {
    return [...this.#tools.values()];
  }

  findTool(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** Which of the mailbox tools our role may see; `undefined` for all. */
  get mailbox(): MailboxAccess | undefined {
    return this.#mailbox;
  }

  /** A connection under the agent's own address, with the same token; the caller's to close. `signal` ends it. */
  connectMain(signal: AbortSignal): Promise<BrokerClient> {
    const { url, token, renewToken, agent } = this.#options;
    const tokens = { token, ...(renewToken && { renewToken }) };
    return connectBroker({ url, ...tokens, agent, signal, waitForBroker: true, log: this.#log });
  }

  get toolCount(): number {
    return this.#tools.size;
  }

  /** Version of the list: the same exactly as long as the list is. */
  get version(): string {
    return this.#version;
  }

  /** Resolves when the connection is gone for good, with the reason unless we closed it. */
  get closed(): BrokerClient['closed'] {
    return this.#client.closed;
  }

  /** Calls a tool. Every failure is a return value; a tool that our role cannot call costs no traffic. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<CallResult> {
    const { result, error } = await this.#call(call, options);
    if (error) return { error };
    if (!asksForInput(result)) return { result };
    const message = `'${call.name}' asks its caller for input, which was not offered`;
    return { error: toolCallError('internal', message, { mayHaveRun: true }) };
  }

  /**
   * {@link execute} for a caller that can be asked back: one round of a call, whose tool may end it with questions. Each
   * round is a request of its own.
   */
  executeRound(call: ToolCall, round: CallRound, options: ExecuteOptions = {}): Promise<RoundResult> {
    return this.#call(call, options, round);
  }

  async #call(call: ToolCall, options: ExecuteOptions, round?: CallRound): Promise<RoundResult> {
    const tool = this.#tools.get(call.name);
    if (!tool && !this.#hasUnlisted) return { error: this.#unknownTool(call.name) };
    const { signal, requestId, onProgress } = options;
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const body = callBody(call, { timeoutMs, progress: onProgress !== undefined, round });
    const asked: RequestOptions = { timeoutMs: timeoutMs ?? defaultCallTimeoutMs };
    if (requestId !== undefined) asked.id = requestId;
    if (signal) asked.signal = signal;
    if (onProgress) asked.onProgress = (progress) => relayProgress(progress, onProgress);
    const replied = this.#client.request(this.#orchestrator, 'mcp_request', body, asked);
    // The client sends at the end of this turn of the event loop; the call is on its way in the next one.
    if (this.#fault !== noFault) setImmediate(() => this.#fault('worker.call.sent'));
    const outcome = await replied;
    this.#fault('worker.reply.received');
    return callResultOf(outcome, tool ?? unlistedTool(call.name));
  }

  /** Asks for the list again; true if it has changed. Throws `SignalboxError` and keeps the old list on failure. */
  refresh(): Promise<boolean> {
    if (!this.#refreshing) {
      this.#refreshing = this.#fetch().finally(() => {
        this.#refreshing = undefined;
      });
      return this.#refreshing;
    }
    this.#refreshNext ??= this.#refreshing
      .catch(() => false)
      .then(() => {
        this.#refreshNext = undefined;
        return this.refresh();
      });
    return this.#refreshNext;
  }

  /** Tells of each change of the list; returns a function that ends it. */
  onManifestChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    for (const detach of this.#detach) detach();
    this.#stop.abort();
    await this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #fetch(): Promise<boolean> {
    const known = this.#version || undefined;
    const manifest = await requestManifest(this.#client, this.#orchestrator, known, {
      timeoutMs: this.#options.manifestTimeoutMs ?? defaultManifestTimeoutMs,
      signal: this.#stop.signal,
    });
    if (manifest.unchanged || !manifest.tools || manifest.version === this.#version) return false;
    this.#version = manifest.version;
    this.#hasUnlisted = manifest.has_unlisted === true;
    this.#mailbox = manifest.mailbox;
    this.#tools = new Map(manifest.tools.map((tool) => [tool.name, tool]));
    for (const listener of this.#listeners) listener();
    return true;
  }

  #refreshInBackground(): void {
    this.refresh().catch((thrown) => {
      if (!this.#stop.signal.aborted) this.#log({ event: 'refresh_failed', reason: messageOf(thrown) });
    });
  }

  /** Only the orchestrator itself is believed, by the identity that the broker attests. */
  #onMessage(message: ParsedMessage): void {
    if (message.kind !== 'event' || message.from.agent !== this.#orchestrator) return;
    if (message.from.role !== 'orchestrator') return;
    const event = message.json as { event?: unknown; version?: unknown } | null;
    if (event?.event === 'manifest_changed' && event.version !== this.#version) this.#refreshInBackground();
  }

  #unknownTool(name: string) {
    const nearest = closest(name, [...this.#tools.keys()]);
    return toolCallError('tool_not_found', `there is no tool '${name}'`, {
      mayHaveRun: false,
      hint: nearest
        ? `The most similar tool you may call is '${nearest}'.`
        : 'You may call no tools at present.',
    });
  }
}
