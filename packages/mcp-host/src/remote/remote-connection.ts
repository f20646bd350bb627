import {
  type HostedList,
  type HostedListReply,
  type McpContentMethod,
  mcpLogMessageSchema,
  messageOf,
  SignalboxError,
} from '@signalbox/protocol';
import type { RemoteServerConfig } from '../config/server-config.ts';
import type { EntryPage } from '../inventory/entry-list.ts';
import { type ReadMcpContent, readMcpContent } from '../inventory/mcp-content-list.ts';
import { listLimitsOf } from '../inventory/tool-filter.ts';
import { readToolList, type ToolList } from '../inventory/tool-list.ts';
import { progressOf } from '../sdk/progress-of.ts';
import { SessionLoss } from '../sdk/session-loss.ts';
import type { RequestLimits, ServerAnswer, ServerConnection, ToolRequest } from '../server-connection.ts';

/** The most characters of a server's instructions. */
const maxInstructions = 4_000;

/** A request to a server elsewhere: a call of a tool, or a request of another method. */
export type RemoteRequest = { args: Record<string, unknown> } & (
  | { tool: string; method?: undefined }
  | { method: McpContentMethod; tool?: undefined }
);

/** A server that an orchestrator with a label hosts. */
export interface RemoteServer {
  /** Resolves with the reason when the server takes no calls any more. */
  readonly lost: Promise<string>;
  /** Reads a page of a list. Rejects with a `SignalboxError`. */
  page(list: HostedList, after: number, limits: RequestLimits): Promise<HostedListReply>;
  /** Sends a request and waits for its answer. `onReport` gets what is reported of it meanwhile, unread. Never rejects. */
  send(
    asked: RemoteRequest,
    request: ToolRequest,
    onReport: (report: Record<string, unknown>) => void,
  ): Promise<ServerAnswer>;
  /** Ends the use of the server, but not the requests that run. */
  close(): void;
}

/**
 * Finds a server that an orchestrator with a label hosts. Calls `onListsChanged` after each change of its lists. Rejects with a
 * `SignalboxError` that says what is missing.
 */
export type ConnectRemote = (
  server: string,
  config: RemoteServerConfig,
  options: RequestLimits & { onListsChanged: () => void },
) => Promise<RemoteServer>;

/** The use of a server elsewhere. Its lists and reports are read here like those of every other server: another machine is not trusted. */
export class RemoteConnection implements ServerConnection {
  readonly pid = undefined;
  readonly #server: RemoteServer;
  readonly #config: RemoteServerConfig;
  readonly #loss = new SessionLoss();
  readonly #retired = Promise.withResolvers<void>();
  #kinds: HostedListReply['kinds'];
  #instructions: string | undefined;
  #inFlight = 0;
  #isRetired = false;

  constructor(server: RemoteServer, config: RemoteServerConfig) {
    this.#server = server;
    this.#config = config;
    void server.lost.then((reason) => this.#loss.lose(reason));
  }

  get isOpen(): boolean {
    return !this.#loss.isLost;
  }

  get lost(): Promise<string> {
    return this.#loss.reason;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async listTools(limits: RequestLimits): Promise<ToolList> {
    return await readToolList(async (cursor) => {
      const page = await this.#page('tools', cursor, limits);
      if (cursor === undefined) {
        this.#kinds = page.kinds;
        this.#instructions = page.instructions?.slice(0, maxInstructions);
      }
      return { tools: page.entries, nextCursor: page.nextCursor };
    }, listLimitsOf(this.#config));
  }

  async listMcpContent(limits: RequestLimits): Promise<ReadMcpContent> {
    const list = await readMcpContent(
      (name, cursor) => this.#page(name, cursor, limits),
      (kind) => this.#kinds?.includes(kind) ?? false,
      listLimitsOf(this.#config),
      (thrown) => `could not be listed: ${messageOf(thrown)}`,
    );
    return { ...list, ...(this.#instructions && { instructions: this.#instructions }) };
  }

  /** Changes of resources elsewhere are not reported. */
  async follow(): Promise<void> {}

  request(
    method: McpContentMethod,
    args: Record<string, unknown>,
    request: ToolRequest,
  ): Promise<ServerAnswer> {
    return this.#send({ method, args }, request);
  }

  callTool(tool: string, args: Record<string, unknown>, request: ToolRequest): Promise<ServerAnswer> {
    return this.#send({ tool, args }, request);
  }

  stderrTail(): string {
    return '';
  }

  retire(): Promise<void> {
    this.#isRetired = true;
    if (this.#inFlight === 0) void this.close();
    return this.#retired.promise;
  }

  async close(): Promise<void> {
    this.#loss.lose('was closed');
    this.#server.close();
    this.#retired.resolve();
  }

  async #send(asked: RemoteRequest, request: ToolRequest): Promise<ServerAnswer> {
    this.#inFlight++;
    try {
      return await this.#server.send(asked, request, (report) => relay(report, request));
    } finally {
      this.#inFlight--;
      if (this.#isRetired && this.#inFlight === 0) void this.close();
    }
  }

  async #page(
    list: HostedList,
    cursor: string | undefined,
    limits: RequestLimits,
  ): Promise<EntryPage & HostedListReply> {
    const after = cursor === undefined ? 0 : Number(cursor);
    const page = await this.#server.page(list, after, limits);
    if (page.more && page.entries.length === 0)
      throw new SignalboxError('bad_tool_list', `the list of ${list} has an empty page`);
    return { ...page, ...(page.more && { nextCursor: String(after + page.entries.length) }) };
  }
}

/** Passes on the progress or the log message of a server elsewhere, if it can be read. */
function relay(
  { log, ...reported }: Record<string, unknown>,
  { onProgress, onLogMessage }: ToolRequest,
): void {
  if (log !== undefined) {
    const message = mcpLogMessageSchema.safeParse(log);
    if (message.success) onLogMessage?.(message.data);
    return;
  }
  const progress = progressOf(reported);
  if (progress) onProgress?.(progress);
}
