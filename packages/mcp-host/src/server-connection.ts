import type {
  CallRound,
  CancelSignal,
  McpContentMethod,
  McpLogLevel,
  McpLogMessage,
  RequestMeta,
} from '@signalbox/protocol';
import type { ReadMcpContent } from './inventory/mcp-content-list.ts';
import type { ToolList } from './inventory/tool-list.ts';
import type { CallOptions, Failure, ToolProgress } from './tool-calls/index.ts';

/** The bounds of one request to a server. */
export interface RequestLimits {
  /** The request is given up after this many milliseconds. */
  timeoutMs: number;
  /** The request is given up when this aborts. */
  signal: AbortSignal;
}

/** The bounds of a call, its callback, and its data besides the arguments. */
export interface ToolRequest extends Pick<RequestLimits, 'timeoutMs'> {
  /** The request is given up when this aborts. */
  signal: CancelSignal;
  /** Called with each progress report of the server. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The least level of the log messages that the caller has asked for. */
  logLevel?: McpLogLevel | undefined;
  /** Called with each log message of the server that belongs to a call of this agent. */
  onLogMessage?: ((message: McpLogMessage) => void) | undefined;
  /** The agent that makes the call, and its role. */
  agent?: string | undefined;
  role?: string | undefined;
  /** True if the call may be made again although it was sent. */
  repeatable?: boolean | undefined;
  /** The questions that the caller can be asked, and its answers. Servers of revisions up to 2025-11-25 are sent neither. */
  round?: CallRound | undefined;
  /** The time for which the caller waits, its own answers included; default `timeoutMs`. */
  patienceMs?: number | undefined;
  /** Called when a server of those revisions asks the caller for the first time. */
  onAsked?: CallOptions['onAsked'];
  /** The `_meta` of the request, to which MCP adds its own fields. */
  meta?: RequestMeta | undefined;
}

/** The whole result of a call as its server sent it, or the reason why the connection gave none. */
export type ServerAnswer = { result: Record<string, unknown> } | { failure: Failure };

/** One connection to an instance of a server. It is used until it is lost, and then replaced, never revived. */
export interface ServerConnection {
  /** The process id of a stdio server. */
  readonly pid: number | undefined;
  /** True if it takes new requests. Requests that were sent before it closed may still be answered. */
  readonly isOpen: boolean;
  /** Resolves with the reason when the connection stops being open. */
  readonly lost: Promise<string>;
  /** The number of calls that wait for their answer. */
  readonly inFlight: number;
  /**
   * Connects to the server once more, in a revision up to 2025-11-25. `undefined` unless this connection has the current one, and the
   * configuration allows both. Rejects as the start of a server does.
   */
  readonly openOlder?: ((timeoutMs: number) => Promise<ServerConnection>) | undefined;
  /** Lists the server's tools. Rejects with a `SignalboxError`. */
  listTools(limits: RequestLimits): Promise<ToolList>;
  /** Lists the server's prompts, resources and instructions. Never rejects: a list that can't be read has a problem instead. */
  listMcpContent(limits: RequestLimits): Promise<ReadMcpContent>;
  /** Asks the server to report changes of these resources and no others. Never rejects; a server that can't do it reports none. */
  follow(uris: ReadonlySet<string>): Promise<void>;
  /** Sends a request of another method than `tools/call`, as {@link callTool} sends a call. */
  request(
    method: McpContentMethod,
    params: Record<string, unknown>,
    request: ToolRequest,
  ): Promise<ServerAnswer>;
  /** Sends a call and waits for its answer. Never rejects. */
  callTool(name: string, args: Record<string, unknown>, request: ToolRequest): Promise<ServerAnswer>;
  /** Returns the last 64 KiB of the process's standard error, secrets included. */
  stderrTail(): string;
  /** Closes the connection as soon as no call runs on it. Resolves when it is closed. */
  retire(): Promise<void>;
  /** Ends the connection and the process behind it at once. Resolves when the process has exited. */
  close(): Promise<void>;
}
