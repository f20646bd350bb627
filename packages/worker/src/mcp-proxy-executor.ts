import {
  type BrokerClient,
  connectBroker,
  type Log,
  type ParsedMessage,
  requestAddress,
} from '@signalbox/client';
import { type Fault, messageOf, noFault, type Tool, toolCallError } from '@signalbox/protocol';
import { closest } from 'fastest-levenshtein';
import { type CallResult, callResultOf } from './call-outcome.ts';

import { requestManifest } from './manifest-request.ts';

const defaultCallTimeoutMs = 300_000;
const defaultManifestTimeoutMs = 30_000;

/** Where the broker is, who we are to it, and how long to wait. Times in milliseconds. */
export interface ExecutorOptions {
  url: string;
  token: string;
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

/** A tool call; `arguments` is an object, or the JSON text of one. */
export interface ToolCall {
  name: string;
  arguments?: unknown;
}

export interface ExecuteOptions {
  /** Aborting it cancels the call, down to the MCP server. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Id of the call's request, unique per agent, to ask about it after a crash; a new one unless given. */
  requestId?: string;
  /** Gets what the MCP server reports while the call runs. */
  onProgress?: (progress: ToolProgress) => void;
}

/** Progress as MCP has it: `progress` grows, towards `total` if that is known. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
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
    const { url, token, agent, signal, waitForBroker, log } = options;
    const client = await connectBroker({
      url,
      token,
      agent: requestAddress(agent),
      backoff: 'worker',
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

  /** Our role, as the broker attests it. */
  get role(): string {
    return this.#client.role;
  }

  /** The tools our role may call, in the orchestrator's order. */
  listTools(): Tool[] {
    return [...this.#tools.values()];
  }

  findTool(name: string): Tool | undefined {
    return this.#tools.get(name);
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
    const tool = this.#tools.get(call.name);
    if (!tool && !this.#hasUnlisted) return { error: this.#unknownTool(call.name) };
    const { signal, requestId, onProgress } = options;
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const body = {
      op: 'call',
      tool: call.name,
      ...(call.arguments !== undefined && { arguments: call.arguments }),
      options: {
        ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
        ...(onProgress && { progress: true }),
      },
    };
    const replied = this.#client.request(this.#orchestrator, 'mcp_request', body, {
      timeoutMs: timeoutMs ?? defaultCallTimeoutMs,
      ...(requestId !== undefined && { id: requestId }),
      ...(signal && { signal }),
      ...(onProgress && { onProgress: (progress: unknown) => relayProgress(progress, onProgress) }),
    });
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

/** All we know of a tool that is not listed: its name. */
function unlistedTool(name: string): Tool {
  return { name, inputSchema: { type: 'object' } };
}

function relayProgress(body: unknown, onProgress: (progress: ToolProgress) => void): void {
  const reported = body as Partial<ToolProgress> | null;
  if (typeof reported?.progress === 'number') onProgress(reported as ToolProgress);
}
