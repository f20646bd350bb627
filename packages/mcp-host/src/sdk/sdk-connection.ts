import {
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  LOG_LEVEL_META_KEY,
  type Progress,
} from '@modelcontextprotocol/client';
import {
  type CallRound,
  isAtLeast,
  isJsonObject,
  type McpContentMethod,
  type McpLogLevel,
  type McpLogMessage,
  SignalboxError,
  type Tool,
  tasksExtension,
} from '@signalbox/protocol';
import { abortSignalOf } from '@signalbox/protocol/internal';
import { timerMs } from '@signalbox/serving';
import type { EntryPage } from '../inventory/entry-list.ts';
import {
  type McpContentLimits,
  mcpContentLists,
  type ReadMcpContent,
  readMcpContent,
} from '../inventory/mcp-content-list.ts';
import { readToolList, type ToolList, type ToolListLimits, type ToolPage } from '../inventory/tool-list.ts';
import type { AskedOfServer, ServerQuestions } from '../questions/server-questions.ts';
import type { RequestLimits, ServerAnswer, ServerConnection, ToolRequest } from '../server-connection.ts';
import type { ToolProgress } from '../tool-calls/index.ts';
import { FollowedResources } from './followed-resources.ts';
import type { LegacyCalls } from './legacy-calls.ts';
import type { OlderSessions } from './older-sessions.ts';
import { progressOf } from './progress-of.ts';
import { type UntouchedResult, untouched } from './sdk-client.ts';
import { failureOf, unaskedResult } from './sdk-failure.ts';
import type { SessionLoss } from './session-loss.ts';
import { rawResult, rawTools } from './untouched-results.ts';

/** The most characters of a server's instructions. */
const maxInstructions = 4_000;

/** The level that every server is asked for, for the log and the operator, and the longest wait for its answer in milliseconds. */
const usualLevel: McpLogLevel = 'info';
const setLevelMs = 10_000;

/** The process or the endpoint at the other end of a session. */
type Peer = Pick<ServerConnection, 'pid' | 'isOpen' | 'stderrTail' | 'close'>;

/** The bounds of a session's lists, and the parts that make and answer its requests. */
export interface SdkConnectionParts {
  limits: ToolListLimits & McpContentLimits;
  questions: ServerQuestions;
  onLogMessage: (message: McpLogMessage) => void;
  legacyCalls?: LegacyCalls;
  olderSessions?: OlderSessions;
  openOlder?: ServerConnection['openOlder'];
}

/** A session over the SDK's client, which must be connected. */
export class SdkConnection implements ServerConnection {
  readonly openOlder: ServerConnection['openOlder'];
  readonly #client: Client;
  readonly #peer: Peer;
  readonly #loss: SessionLoss;
  readonly #limits: ToolListLimits & McpContentLimits;
  /** Asks the callers; `undefined` for a server of the 2026 revision, whose questions end its answers. */
  readonly #questions: ServerQuestions | undefined;
  /** The shorter way for calls; `undefined` if the revision or the transport doesn't allow it. */
  readonly #legacyCalls: LegacyCalls | undefined;
  /** Makes the calls of older clients; `undefined` over stdio and in a session of an older revision. */
  readonly #olderSessions: OlderSessions | undefined;
  /** The tools whose server wants some of their arguments repeated in HTTP headers. */
  readonly #mirrored = new Map<string, Tool>();
  readonly #retired = Promise.withResolvers<void>();
  readonly #followed: FollowedResources;
  /** The requests that wait for their answers, the newest last. */
  readonly #running = new Set<ToolRequest>();
  /** The least level that the server was asked for. */
  #level: McpLogLevel | undefined;
  #isRetired = false;

  constructor(
    client: Client,
    peer: Peer,
    loss: SessionLoss,
    { limits, questions, onLogMessage, legacyCalls, olderSessions, openOlder }: SdkConnectionParts,
  ) {
    this.#client = client;
    this.#followed = new FollowedResources(client);
    this.#peer = peer;
    this.#loss = loss;
    this.#limits = limits;
    const isModern = client.getProtocolEra() === 'modern';
    this.#legacyCalls = isModern ? undefined : legacyCalls;
    this.#questions = isModern ? undefined : questions;
    this.#olderSessions = isModern ? olderSessions : undefined;
    this.openOlder = isModern ? openOlder : undefined;
    client.setNotificationHandler('notifications/message', ({ params }) => {
      onLogMessage(params);
      this.#relayLog(params);
    });
    this.#wantLevel(usualLevel);
  }

  get pid(): number | undefined {
    return this.#peer.pid;
  }

  get isOpen(): boolean {
    return !this.#loss.isLost && this.#peer.isOpen;
  }

  get lost(): Promise<string> {
    return this.#loss.reason;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  stderrTail(): string {
    return this.#peer.stderrTail();
  }

  async listTools(limits: RequestLimits): Promise<ToolList> {
    if (!this.#client.getServerCapabilities()?.tools) return { tools: [], problems: [] };
    // One deadline for all pages, so that a server can't hold its reader up with one slow page after another.
    const signal = AbortSignal.any([limits.signal, AbortSignal.timeout(limits.timeoutMs)]);
    const list = await readToolList((cursor) => this.#listPage(cursor, { ...limits, signal }), this.#limits);
    this.#olderSessions?.meet(list);
    this.#mirrored.clear();
    for (const tool of list.tools) if (hasMirroredArguments(tool)) this.#mirrored.set(tool.name, tool);
    return list;
  }

  async listMcpContent(limits: RequestLimits): Promise<ReadMcpContent> {
    const signal = AbortSignal.any([limits.signal, AbortSignal.timeout(limits.timeoutMs)]);
    const capabilities = this.#client.getServerCapabilities();
    const list = await readMcpContent(
      (name, cursor) => this.#mcpContentPage(name, cursor, { ...limits, signal }),
      (capability) => capabilities?.[capability] !== undefined,
      this.#limits,
      (thrown) => `could not be listed: ${failureOf(thrown).reason}`,
    );
    const instructions = this.#client.getInstructions()?.slice(0, maxInstructions);
    return { ...list, ...(instructions && { instructions }) };
  }

  callTool(name: string, args: Record<string, unknown>, request: ToolRequest): Promise<ServerAnswer> {
    const params = { name, arguments: args };
    if (this.#olderSessions?.isFor(request))
      return this.#callInOlderSession(this.#olderSessions, params, request);
    return this.#askable({ name, args }, request, (sent) =>
      this.#legacyCalls
        ? this.#legacyCalls.call('tools/call', params, sent)
        : this.#callThroughSdk(params, sent),
    );
  }

  #callInOlderSession(
    sessions: OlderSessions,
    params: { name: string; arguments: Record<string, unknown> },
    request: ToolRequest,
  ): Promise<ServerAnswer> {
    return this.#whileOpen(request, (sent) =>
      sessions.call(params.name, params.arguments, sent, (own) => this.#callThroughSdk(params, own)),
    );
  }

  request(
    method: McpContentMethod,
    params: Record<string, unknown>,
    request: ToolRequest,
  ): Promise<ServerAnswer> {
    return this.#askable({ name: method, args: params }, request, (sent) =>
      this.#legacyCalls
        ? this.#legacyCalls.call(method, params, sent)
        : this.#requestThroughSdk(method, params, sent),
    );
  }

  follow(uris: ReadonlySet<string>): Promise<void> {
    return this.#followed.follow(uris);
  }

  #askable(
    asked: AskedOfServer,
    request: ToolRequest,
    send: (request: ToolRequest) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const sendOpen = (sent: ToolRequest): Promise<ServerAnswer> => this.#whileOpen(sent, send);
    return this.#questions ? this.#questions.run(asked, request, sendOpen) : sendOpen(request);
  }

  async #whileOpen(
    request: ToolRequest,
    send: (request: ToolRequest) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    if (!this.isOpen) return { failure: { kind: 'not_sent', reason: 'the session has ended' } };
    let answer: ServerAnswer;
    if (request.logLevel && request.logLevel !== this.#level) this.#wantLevel(request.logLevel);
    this.#running.add(request);
    try {
      answer = await send(request);
    } finally {
      this.#running.delete(request);
      if (this.#isRetired) this.#closeWhenUnused();
    }
    if ('result' in answer && isTask(answer.result)) return { failure: unaskedResult('task') };
    const isLost = 'failure' in answer && answer.failure.kind === 'lost' && !this.isOpen;
    return isLost ? { failure: { kind: 'lost', reason: await this.lost } } : answer;
  }

  /**
   * Asks a server of the revisions up to 2025-11-25 for more log messages, if it was asked for fewer before. One of the current revision is
   * told the level with each call.
   */
  #wantLevel(level: McpLogLevel): void {
    const isAsked = this.#level !== undefined && isAtLeast(level, this.#level);
    const client = this.#client;
    if (isAsked || client.getProtocolEra() === 'modern' || !client.getServerCapabilities()?.logging) return;
    this.#level = level;
    const limits = { timeout: setLevelMs, maxTotalTimeout: setLevelMs };
    client.request({ method: 'logging/setLevel', params: { level } }, untouched, limits).catch(() => {});
  }

  /**
   * Passes a log message on to the caller of the newest call. Servers do not say for which call they log: if it may belong to calls of
   * several agents, it may hold the data of another agent, and nobody gets it.
   */
  #relayLog(message: McpLogMessage): void {
    const running = [...this.#running];
    const agents = new Set([...running.map(({ agent }) => agent), ...(this.#questions?.agents() ?? [])]);
    if (agents.size === 1) running.at(-1)?.onLogMessage?.(message);
  }

  retire(): Promise<void> {
    if (!this.#isRetired) {
      this.#isRetired = true;
      this.#closeWhenUnused();
    }
    return this.#retired.promise;
  }

  async close(): Promise<void> {
    await Promise.all([this.#olderSessions?.close(), this.#peer.close()]);
  }

  #closeWhenUnused(): void {
    if (this.#running.size > 0) return;
    // A call whose caller is asked does not count here, and goes on in its session.
    Promise.resolve(this.#olderSessions?.retire())
      .then(() => this.close())
      .catch(() => {})
      .finally(() => this.#retired.resolve());
  }

  async #listPage(cursor: string | undefined, limits: RequestLimits): Promise<ToolPage> {
    const params = cursor === undefined ? {} : { cursor };
    try {
      const page = await this.#client.request({ method: 'tools/list', params }, untouched, sdkLimits(limits));
      return { tools: page[rawTools] ?? page.tools, nextCursor: page.nextCursor };
    } catch (thrown) {
      throw thrown instanceof SignalboxError
        ? thrown
        : new SignalboxError('server_failed', failureOf(thrown).reason, { cause: thrown });
    }
  }

  async #mcpContentPage(
    list: keyof typeof mcpContentLists,
    cursor: string | undefined,
    limits: RequestLimits,
  ): Promise<EntryPage> {
    const { method, field } = mcpContentLists[list];
    const params = cursor === undefined ? {} : { cursor };
    const page = await this.#client.request({ method, params }, untouched, sdkLimits(limits));
    const raw = (page[rawResult] as Record<string, unknown> | undefined) ?? page;
    return { entries: raw[field], nextCursor: raw.nextCursor };
  }

  #callThroughSdk(
    call: { name: string; arguments: Record<string, unknown> },
    request: ToolRequest,
  ): Promise<ServerAnswer> {
    const tool = this.#mirrored.get(call.name);
    if (!tool) return this.#requestThroughSdk('tools/call', call, request);
    const { params, options } = this.#asSent(call, request);
    return answerOf(this.#client.callTool(params, { ...options, toolDefinition: withoutOutputSchema(tool) }));
  }

  #requestThroughSdk(
    method: 'tools/call' | McpContentMethod,
    given: Record<string, unknown>,
    request: ToolRequest,
  ): Promise<ServerAnswer> {
    const { params, options } = this.#asSent(given, request);
    return answerOf(this.#client.request({ method, params }, untouched, options));
  }

  /** Returns the parameters and the options with which a request is sent through the SDK. */
  #asSent<Params extends Record<string, unknown>>(
    given: Params,
    { round, meta, onProgress, logLevel, ...limits }: ToolRequest,
  ) {
    const isModern = this.#client.getProtocolEra() === 'modern';
    // A server of the 2026 revision is told what this caller can be asked, never what the session declared to older servers.
    const { _meta: ofRound, ...further } = isModern ? roundParams(round ?? {}) : {};
    const ofLog = isModern && logLevel ? { [LOG_LEVEL_META_KEY]: logLevel } : undefined;
    const _meta = meta || ofRound || ofLog ? { ...meta, ...ofRound, ...ofLog } : undefined;
    return {
      params: { ...given, ...(_meta && { _meta }), ...further },
      options: {
        ...sdkLimits(limits),
        ...(onProgress && { onprogress: (update: Progress) => report(update, onProgress) }),
      },
    };
  }
}

/** Returns the whole result as its server sent it, or the failure of the request. */
async function answerOf(requested: Promise<UntouchedResult>): Promise<ServerAnswer> {
  try {
    const result = await requested;
    const { resultType, ...rest } = (result[rawResult] as Record<string, unknown> | undefined) ?? result;
    return { result: resultType === undefined || resultType === 'complete' ? rest : { resultType, ...rest } };
  } catch (thrown) {
    return { failure: failureOf(thrown) };
  }
}

/** Returns true if a server of 2025-11-25 answered with a task in place of a result. The SDK refuses those of the current revision. */
function isTask({ task, content }: Record<string, unknown>): boolean {
  return content === undefined && isJsonObject(task) && typeof task.taskId === 'string';
}

/** Leaves out the output schema: with it, the SDK would refuse results that do not match, and we relay all results. */
function withoutOutputSchema({ name, inputSchema }: Tool) {
  return { name, inputSchema: inputSchema as { type: 'object' } };
}

/**
 * Puts the caller's own capabilities in the place where the SDK would put ours, with the caller's answers in a further round. Tasks are
 * left out: the face can make a task of any call, and this host asks no server for one.
 */
function roundParams({ clientCapabilities = {}, inputResponses, requestState }: CallRound) {
  return {
    _meta: { [CLIENT_CAPABILITIES_META_KEY]: withoutTasks(clientCapabilities) },
    ...(inputResponses && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

function withoutTasks({ extensions, ...capabilities }: Record<string, unknown>): Record<string, unknown> {
  if (!isJsonObject(extensions)) return capabilities;
  const { [tasksExtension]: _ofTheFace, ...others } = extensions;
  return Object.keys(others).length === 0 ? capabilities : { ...capabilities, extensions: others };
}

function report(update: Progress, onProgress: (progress: ToolProgress) => void): void {
  const progress = progressOf({ ...update });
  if (progress) onProgress(progress);
}

/** Returns true if a server of the 2026 revision wants some arguments repeated in HTTP headers; the SDK decides how. */
function hasMirroredArguments(tool: Tool): boolean {
  return JSON.stringify(tool.inputSchema).includes('"x-mcp-header"');
}

/** Workaround for the SDK 2.4.0: without `maxTotalTimeout`, progress postpones the timeout for ever. */
function sdkLimits({ timeoutMs, signal }: Pick<ToolRequest, 'timeoutMs' | 'signal'>) {
  const timeout = timerMs(timeoutMs);
  return { timeout, maxTotalTimeout: timeout, signal: abortSignalOf(signal) };
}
