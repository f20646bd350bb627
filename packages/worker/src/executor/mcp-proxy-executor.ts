import type { CancelSignal } from '@signalbox/client';
import {
  type BrokerClient,
  type ConnectOptions,
  connectBroker,
  groupAddress,
  type Log,
  type ParsedMessage,
  type RequestOptions,
  requestAddress,
} from '@signalbox/client';
import {
  type AskPermissionRequest,
  askDeadlineOf,
  type CallRequest,
  type CallRound,
  isInputRequired,
  isJsonObject,
  type KeptAnswer,
  type MailboxAccess,
  type McpContentKinds,
  type McpContentRequest,
  mayRepeat,
  type Tool,
  type ToolCallError,
  taskRoundId,
  toolCallError,
  toProxiedResult,
  type UnreadHint,
  type UpdateTaskRequest,
  type WelcomeFrame,
} from '@signalbox/protocol';
import { abortSignalOf, Cancellation, nearestToolHint } from '@signalbox/protocol/internal';
import { type Fault, noFault, within } from '@signalbox/serving';
import type { Tracing } from '@signalbox/serving/tracing';
import { type CallResult, callResultOf, type RoundResult } from './call-result.ts';
import { CurrentManifest } from './current-manifest.ts';
import type { CurrentMcpContent } from './current-mcp-content.ts';
import { FollowedResources } from './followed-resources.ts';
import { KeptAnswers } from './kept-answers.ts';
import { askOrchestrator, question } from './orchestrator-question.ts';
import {
  endOfQuestion,
  type PermissionOptions,
  type PermissionQuestion,
  permissionTimeoutMs,
} from './permission-question.ts';
import { endOfRepeated } from './repeated-call.ts';
import { sharedManifests } from './shared-manifests.ts';
import {
  callBody,
  type ExecuteOptions,
  relayCallProgress,
  type ToolCall,
  unlistedTool,
} from './tool-call.ts';

const defaultCallTimeoutMs = 300_000;
const defaultManifestTimeoutMs = 30_000;
/** The longest wait for another list when a call names a tool that is not listed, in milliseconds. */
const longestLookMs = 2_000;

/** The connection, the identity and the time limits of an executor. Times are in milliseconds. */
export interface ExecutorOptions {
  /** The broker's address or addresses, as `ConnectOptions.url`. */
  url: string;
  /** Allows plain `ws://` to another machine, although token and calls cross the network unencrypted. */
  insecure?: boolean;
  /** The certificates of the only authorities to trust for `wss://`, as PEM text; by default those that Node trusts. */
  ca?: string;
  /** The agent's token. */
  token: string;
  /** Called when the token was revoked or has expired; resolves with another token of the same agent, whose role may differ. */
  renewToken?: () => Promise<string | undefined>;
  /** The agent id that the token names. The executor takes a sub-inbox of it for the replies. */
  agent: string;
  /**
   * Names that sub-inbox: 22 characters of base64url. An executor with the same name takes it over, with the replies that have come
   * meanwhile. By default the name is new.
   */
  consumer?: string;
  /** The agent id of the orchestrator; default `orchestrator`. */
  orchestrator?: string;
  /**
   * The deadline of a call, waiting included; default 5 min. If given, it is also the tool's own timeout. The time for which a call may
   * wait for a person's decision is added to it.
   */
  timeoutMs?: number;
  /** The thread that the executor's calls belong to; by default each call has a thread of its own. */
  thread?: string;
  /** The longest wait for a list of tools, also while no orchestrator is connected; default 30 s. */
  manifestTimeoutMs?: number;
  /** Aborting it closes the connection for good. */
  signal?: AbortSignal;
  /** True: the executor tries until the broker can be reached. By default there is one attempt. */
  waitForBroker?: boolean;
  /** Called when the broker has welcomed the executor, before it has a list of tools. */
  onConnected?: () => void;
  /** Makes spans of the calls and messages, also for the face that shows the tools. See `ConnectOptions.tracing`. */
  tracing?: Tracing | undefined;
  /** Called with each event of the connection. */
  log?: Log;
  /** Called at the fault points `worker.call.sent` and `worker.reply.received`. */
  fault?: Fault;
}

/** Tells whether the round that was sent is on disk, or another one with the same number. */
export type SentRound =
  | { isTaken: boolean; error?: undefined }
  | { error: ToolCallError; isTaken?: undefined };

/**
 * A worker's access to the tools that the orchestrator hosts: it lists those that the role may see, and makes calls, any number
 * at a time over one connection. The list follows the orchestrator's while connected.
 */
export class McpProxyExecutor implements AsyncDisposable {
  readonly #client: BrokerClient;
  readonly #manifest: CurrentManifest;
  readonly #keptAnswers = new KeptAnswers((body, options) => this.ask(body, options));
  /** The resources whose changes the executor is told about. */
  readonly followed: FollowedResources;
  readonly #stop = new AbortController();
  readonly #options: ExecutorOptions;
  readonly #orchestrator: string;
  readonly #log: Log;
  readonly #fault: Fault;

  private constructor(client: BrokerClient, options: ExecutorOptions) {
    const { orchestrator = 'orchestrator', log = () => {}, fault = noFault } = options;
    this.#client = client;
    this.#options = options;
    this.#orchestrator = orchestrator;
    this.#log = log;
    this.#fault = fault;
    const timeoutMs = options.manifestTimeoutMs ?? defaultManifestTimeoutMs;
    const lists = sharedManifests(options.url, orchestrator);
    this.#manifest = new CurrentManifest({ client, orchestrator, timeoutMs, lists, log });
    const asker = { client, orchestrator };
    this.followed = new FollowedResources({ asker, stop: this.#stop.signal, log });
    client.onMessage((message) => this.#receive(message));
    client.onState((state) => {
      if (state.name === 'ready') this.followed.repeat();
    });
  }

  /** Connects and fetches the list of tools. Throws `SignalboxError` if either fails; nothing stays open then. */
  static async connect(options: ExecutorOptions): Promise<McpProxyExecutor> {
    const {
      url,
      insecure = false,
      ca,
      token,
      renewToken,
      agent,
      consumer,
      signal,
      waitForBroker,
      tracing,
      log,
    } = options;
    const client = await connectBroker({
      url,
      insecure,
      ...(ca !== undefined && { ca }),
      token,
      agent: requestAddress(agent, consumer),
      resumes: consumer !== undefined,
      tracing,
      ...(renewToken && { renewToken }),
      ...(signal && { signal }),
      ...(waitForBroker !== undefined && { waitForBroker }),
      ...(log && { log }),
    });
    const executor = new McpProxyExecutor(client, options);
    options.onConnected?.();
    try {
      await executor.refresh();
      return executor;
    } catch (thrown) {
      await executor.close();
      throw thrown;
    }
  }

  /** Calls a tool. Every failure is a return value. The orchestrator refuses a tool that the role cannot call. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<CallResult> {
    const { result, error } = await this.#call(call, options);
    if (error) return { error };
    if (!isInputRequired(result)) return { result: toProxiedResult(result) };
    const message = `'${call.name}' asks its caller for input, which was not shown`;
    return { error: toolCallError('internal', message, { mayHaveRun: true }) };
  }

  /**
   * Makes one round of a call, for a caller that can be asked for input: the result may ask for it, and the caller then calls again with
   * the answers. Each round is a request of its own.
   */
  executeRound(call: ToolCall, round: CallRound, options: ExecuteOptions = {}): Promise<RoundResult> {
    return this.#call(call, options, round);
  }

  #call(call: ToolCall, options: ExecuteOptions, round?: CallRound): Promise<RoundResult> {
    const tool = this.findTool(call.name);
    return tool ? this.#callOf(tool, call, options, round) : this.#callUnlisted(call, options, round);
  }

  async #callUnlisted(call: ToolCall, options: ExecuteOptions, round?: CallRound): Promise<RoundResult> {
    const isListAnswered = await this.#lookAgain(options.signal);
    const tool = this.findTool(call.name);
    if (tool || this.#manifest.hasUnlisted) return await this.#callOf(tool, call, options, round);
    const earlier = await this.#endOfEarlier(call.name, options);
    if (earlier) return earlier;
    // The orchestrator refuses an unknown tool, so that operators see the refusal. One that is away would do so only after a long time.
    if (isListAnswered) return await this.#callOf(undefined, call, options, round);
    return { error: this.#unknownTool(call.name) };
  }

  /**
   * Returns the end of a call that an earlier process has made with the same id. Its tool may be listed no longer, or a page that the
   * earlier process knew may have named it.
   */
  async #endOfEarlier(name: string, options: ExecuteOptions): Promise<RoundResult | undefined> {
    const { mayBeRepeated, requestId: callId, onAwaitingApproval } = options;
    if (!mayBeRepeated || callId === undefined) return undefined;
    const signal = options.signal ? abortSignalOf(options.signal) : this.#stop.signal;
    const asked = { op: 'status', request_id: callId };
    const { result } = await askOrchestrator(this, asked, { timeoutMs: longestLookMs, signal });
    if (isJsonObject(result) && result.state === 'unknown') return undefined;
    const call = { callId, tool: unlistedTool(name), onAwaitingApproval };
    return await endOfRepeated(this, call, signal).catch(() => ({
      error: toolCallError('cancelled', 'the call was cancelled', { mayHaveRun: true }),
    }));
  }

  // Not an async function: every call would pay for a second promise.
  #callOf(
    tool: Tool | undefined,
    call: ToolCall,
    options: ExecuteOptions,
    round?: CallRound,
  ): Promise<RoundResult> {
    const { signal, requestId, onProgress, logLevel, onLogMessage, traceparent, meta } = options;
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    const body = callBody(call, { timeoutMs, progress: onProgress !== undefined, logLevel, round, meta });
    const askMs = tool && askDeadlineOf(tool);
    // A repetition is the same message, so that what the body says is the same, too.
    if (options.epoch !== undefined) body.maybe_started_in = options.epoch;
    const requestOptions: RequestOptions = {
      timeoutMs: (timeoutMs ?? defaultCallTimeoutMs) + (askMs ?? 0),
      waitsForRate: true,
    };
    if (requestId !== undefined) {
      requestOptions.id = requestId;
      requestOptions.isFirst = options.isFirst;
    }
    if (traceparent !== undefined) requestOptions.traceparent = traceparent;
    if (signal) requestOptions.signal = signal;
    const onAwaitingApproval = tool && askMs === undefined ? undefined : options.onAwaitingApproval;
    if (onProgress || onLogMessage || onAwaitingApproval)
      requestOptions.onProgress = (body) =>
        relayCallProgress(body, { onProgress, onLogMessage, onAwaitingApproval });
    // A call that a person decides on waits in the broker, and so does one that a client may ask for later.
    if (tool && askMs === undefined && !options.mayBeTask) {
      requestOptions.onLane = onLaneOf(body, options);
      if (options.mayBeRepeated && !mayRepeat(tool, true)) requestOptions.laneEpoch = options.epoch ?? null;
    }
    return this.#send(body, requestOptions, {
      tool: tool ?? unlistedTool(call.name),
      mayBeRepeated: options.mayBeRepeated,
      onAwaitingApproval,
    });
  }

  /**
   * Asks a person whether the agent's CLI may use a tool of its own, and waits at most a week for the decision. A result means that it may,
   * an error that it may not.
   */
  async askPermission(asked: PermissionQuestion, options: PermissionOptions = {}): Promise<RoundResult> {
    const { signal, requestId, traceparent, mayBeRepeated, onProgress, onAwaitingApproval } = options;
    const body: AskPermissionRequest = { op: 'ask_permission', ...asked };
    const requestOptions: RequestOptions = {
      timeoutMs: permissionTimeoutMs,
      onProgress: (told) => relayCallProgress(told, { onProgress, onAwaitingApproval }),
      ...(requestId !== undefined && { id: requestId }),
      ...(traceparent !== undefined && { traceparent }),
      ...(signal && { signal }),
    };
    const call = { tool: question(body.op), mayBeRepeated, onAwaitingApproval };
    return await endOfQuestion(asked, await this.#send(body, requestOptions, call));
  }

  /**
   * Sends the next round of a task. Resolves when a round with its number is on disk, with `isTaken` if that is an earlier one. Resolves
   * with an error if the round may not be on disk.
   */
  async updateTask(body: UpdateTaskRequest, toolName: string): Promise<SentRound> {
    const tool = this.findTool(toolName);
    const stored = Promise.withResolvers<SentRound>();
    const options: RequestOptions = {
      id: taskRoundId(body.task_id, body.round),
      timeoutMs: (this.#options.timeoutMs ?? defaultCallTimeoutMs) + ((tool && askDeadlineOf(tool)) ?? 0),
      waitsForRate: true,
      onReceipt: (isTaken) => stored.resolve({ isTaken }),
    };
    if (this.#options.thread !== undefined) options.thread = this.#options.thread;
    const ended = this.#client.request(this.#orchestrator, 'mcp_request', body, options);
    const withoutReceipt = ended.then((outcome): SentRound => {
      if (outcome.status === 'rejected' && outcome.error.code === 'id_conflict') return { isTaken: true };
      const { error } = callResultOf(outcome, tool ?? unlistedTool(toolName));
      return error && outcome.status !== 'completed' ? { error } : { isTaken: false };
    });
    return await Promise.race([stored.promise, withoutReceipt]);
  }

  /** Sends a request whose reply is that of a call. `tool` shows whether a failed call may have had an effect. */
  #send(
    body: CallRequest | AskPermissionRequest,
    requestOptions: RequestOptions,
    call: { tool: Tool } & Pick<ExecuteOptions, 'mayBeRepeated' | 'onAwaitingApproval'>,
  ): Promise<RoundResult> {
    const { tool, mayBeRepeated, onAwaitingApproval } = call;
    const { id } = requestOptions;
    if (this.#options.thread !== undefined) requestOptions.thread = this.#options.thread;
    if (mayBeRepeated && id !== undefined) {
      const repeated = { over: mayBeRepeated, callId: id, tool, onAwaitingApproval };
      return this.#repeatable(body, requestOptions, repeated);
    }
    const replied = this.#client.request(this.#orchestrator, 'mcp_request', body, requestOptions);
    // The client sends at the end of this turn of the event loop, so that the call is on its way in the next one.
    if (this.#fault !== noFault) setImmediate(() => this.#fault('worker.call.sent'));
    return replied.then((outcome) => {
      this.#fault('worker.reply.received');
      return callResultOf(outcome, tool);
    });
  }

  /**
   * Reads the list again, unless the role may call tools that are not listed: the call before may have enabled the tool. Returns false if
   * the orchestrator does not answer.
   */
  async #lookAgain(signal: CancelSignal | undefined): Promise<boolean> {
    if (this.#manifest.hasUnlisted) return true;
    const read = this.#manifest.refresh({ fresh: true }).then(
      () => true,
      () => false,
    );
    return (await within(read, longestLookMs, signal)) === true || signal?.aborted === true;
  }

  #unknownTool(name: string): ToolCallError {
    const message = `there was no tool '${name}' when the orchestrator '${this.#orchestrator}' last answered, and it does not answer now`;
    const hint = nearestToolHint(name, [...this.#manifest.tools.keys()]);
    return toolCallError('tool_not_found', message, { mayHaveRun: false, hint });
  }

  /** Makes a call that an earlier process, now dead, may have made already. */
  #repeatable(
    body: CallRequest | AskPermissionRequest,
    requestOptions: RequestOptions,
    call: { over: Promise<void>; callId: string; tool: Tool } & Pick<ExecuteOptions, 'onAwaitingApproval'>,
  ): Promise<RoundResult> {
    const { signal } = requestOptions;
    const ended = new Cancellation();
    if (signal?.aborted) ended.abort(signal.reason);
    else signal?.addEventListener('abort', () => ended.abort(signal.reason), { once: true });
    return new Promise((resolve) => {
      let isRepeated = false;
      const end = (result: RoundResult): void => {
        resolve(result);
        // The request of a first call ends by itself. The request of a repeated one may have two ends, of which the first cancels the
        // other.
        if (isRepeated) ended.abort();
      };
      const options: RequestOptions = {
        ...requestOptions,
        signal: ended,
        ackAfter: call.over,
        onReceipt: (duplicate) => {
          if (!duplicate) return;
          isRepeated = true;
          endOfRepeated(this, call, abortSignalOf(ended)).then(end, () => {});
        },
      };
      void this.#client
        .request(this.#orchestrator, 'mcp_request', body, options)
        .then((outcome) => end(callResultOf(outcome, call.tool)));
    });
  }

  /** Reads the orchestrator's own events, by the identity that the broker attests. A new orchestrator announces its manifest. */
  #receive(message: ParsedMessage): void {
    const { kind, from, json } = message;
    if (kind !== 'event' || from.agent !== this.#orchestrator || from.role !== 'orchestrator') return;
    this.followed.receive(message);
    if (isJsonObject(json) && json.event === 'manifest_changed') this.followed.repeat();
  }

  /**
   * Asks a hosted server for a resource, a prompt or a completion. The result is as the server gave it; it may ask for input if
   * `body` has a round. Every failure is a return value.
   */
  async ask(
    body: McpContentRequest,
    { signal }: { signal?: CancelSignal } = {},
  ): Promise<CallResult<Record<string, unknown>>> {
    const timeoutMs = this.#options.timeoutMs ?? defaultCallTimeoutMs;
    const outcome = await this.#client.request(this.#orchestrator, 'mcp_request', body, {
      timeoutMs,
      ...(signal && { signal }),
    });
    const json = outcome.status === 'completed' ? outcome.reply.json : undefined;
    const { data, kept } = isJsonObject(json) ? (json as { data?: unknown; kept?: KeptAnswer }) : {};
    if (isJsonObject(data)) return { result: data };
    if (kept) return await this.#keptAnswers.read(kept, { ...(signal && { signal }) });
    const { result, error } = callResultOf(outcome, question(body.method));
    return error ? { error: { ...error, may_have_run: false } } : { result };
  }

  /** The instructions, resources and prompts that the role may see. */
  get mcpContent(): CurrentMcpContent {
    return this.#manifest.mcpContent;
  }

  /** Calls `listener` with the kinds of which a list has changed; returns a function that removes it. */
  onMcpContentChanged(listener: (changed: McpContentKinds) => void): () => void {
    return this.#manifest.onMcpContentChanged(listener);
  }

  /** Returns the tools that the role may call, in the orchestrator's order. */
  listTools(): Tool[] {
    return [...this.#manifest.tools.values()];
  }

  /** Returns the tool of this name, if the role may call it and it is listed. */
  findTool(name: string): Tool | undefined {
    return this.#manifest.tools.get(name);
  }

  /** The number of tools that are listed. */
  get toolCount(): number {
    return this.#manifest.tools.size;
  }

  /** The version of the list, which changes exactly when the list does. */
  get version(): string {
    return this.#manifest.version;
  }

  /** The mailbox tools that the role may see; `undefined` for all. */
  get mailbox(): MailboxAccess | undefined {
    return this.#manifest.mailbox;
  }

  /** The way in which the role is told of new mail, if the configuration names one. */
  get unreadHint(): UnreadHint | undefined {
    return this.#manifest.unreadHint;
  }

  /** True if large results of the role's calls are kept, and answered by previews. */
  get keepsResults(): boolean {
    return this.#manifest.keepsResults;
  }

  /** Fetches the list again and returns whether it has changed. Throws `SignalboxError` and keeps the old list on failure. */
  refresh(): Promise<boolean> {
    return this.#manifest.refresh();
  }

  /** Calls `listener` at each change of the tools or the mailbox; returns a function that removes it. */
  onManifestChanged(listener: () => void): () => void {
    return this.#manifest.onChanged(listener);
  }

  /** The executor's own connection, on a sub-inbox of the agent, for other messages and requests. Closed with the executor. */
  get client(): BrokerClient {
    return this.#client;
  }

  /** Opens a connection under the agent's own address, with the same token. The caller closes it, or aborts `signal`. */
  connectMain(signal: AbortSignal): Promise<BrokerClient> {
    return this.#connectAs(this.agent, { signal, waitForBroker: true });
  }

  /** Opens a connection that takes messages of a group, with the same token. The caller closes it, or aborts `signal`. */
  connectMember(signal: AbortSignal): Promise<BrokerClient> {
    return this.#connectAs(groupAddress(this.agent), { signal });
  }

  #connectAs(address: string, rest: Pick<ConnectOptions, 'signal' | 'waitForBroker'>): Promise<BrokerClient> {
    const { url, insecure = false, ca, token, renewToken, tracing } = this.#options;
    const tokens = { token, ...(renewToken && { renewToken }), ...(ca !== undefined && { ca }) };
    return connectBroker({ url, insecure, ...tokens, agent: address, tracing, log: this.#log, ...rest });
  }

  /** The tracing that makes the spans of this executor. */
  get tracing(): Tracing | undefined {
    return this.#options.tracing;
  }

  /** The agent's id. */
  get agent(): string {
    return this.#client.agent;
  }

  /** The times of the token that is in use, in epoch milliseconds. */
  get tokenTimes(): WelcomeFrame['token'] {
    return this.#client.welcome.token;
  }

  /** The agent's role, as the broker attests it; a renewed token may bring another. */
  get role(): string {
    return this.#client.role;
  }

  /** The agent id of the orchestrator whose tools these are. */
  get orchestrator(): string {
    return this.#orchestrator;
  }

  /** Resolves when the connection is closed for good, with the reason unless `close` was called. */
  get closed(): BrokerClient['closed'] {
    return this.#client.closed;
  }

  /** Closes the connection for good. Running calls end with `connection_lost`; those that were not sent end with a refusal. */
  async close(): Promise<void> {
    this.#manifest.close();
    this.#stop.abort();
    await this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Returns the function that makes the body of a call that goes through the broker because its lane was lost. */
function onLaneOf(body: CallRequest, { mayBeRepeated }: ExecuteOptions): RequestOptions['onLane'] {
  if (mayBeRepeated) return () => body;
  return (epoch) => (epoch === undefined ? body : { ...body, maybe_started_in: epoch });
}
