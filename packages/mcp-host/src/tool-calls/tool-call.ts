import type {
  CallRound,
  CancelSignal,
  McpLogLevel,
  McpLogMessage,
  RequestMeta,
  ToolCallError,
} from '@signalbox/protocol';
import type { Failure } from './errors/failure.ts';

/** The agent that a call is made for, as the broker attests it. */
export interface Caller {
  agent: string;
  role: string;
}

/** The progress of a call, as its server reports it. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
  /** The server's own fields, without those that MCP or Signalbox reserve. */
  _meta?: RequestMeta;
}

/** The options of a call, and its callbacks. */
export interface CallOptions {
  /** Aborting it cancels the call. */
  signal: CancelSignal;
  /** Bounds the whole call in milliseconds, a wait for the server included. */
  timeoutMs: number;
  /** Decides which instance serves the call, and whose cached answers it may read. */
  caller?: Caller | undefined;
  /** The questions that the caller can be asked, and its answers in a further round. */
  round?: CallRound | undefined;
  /** The `traceparent` of the work that causes the call. The server gets it, or that of a span below it. */
  traceparent?: string | undefined;
  /** Further fields for the `_meta` of the request to the server. */
  meta?: RequestMeta | undefined;
  /** Called with each progress report while the call runs. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The least level of the log messages that `onLogMessage` gets; default `info`. */
  logLevel?: McpLogLevel | undefined;
  /** Called with the log messages of the server while the call runs, unless calls of other agents run there at the same time. */
  onLogMessage?: ((message: McpLogMessage) => void) | undefined;
  /** True if a call that was sent may be made again. By default the tool's declaration decides. */
  repeatable?: boolean | undefined;
  /** Called right before each sending, when there is a connection; the call waits for it. An error ends the call unsent. */
  beforeSend?: (() => Promise<ToolCallError | undefined>) | undefined;
  /** The time for which the caller waits, its own answers to questions of the server included; default `timeoutMs`. */
  patienceMs?: number | undefined;
  /**
   * Called when the server asks the caller a question in the middle of the call, for the first time: this round ends, and `call` continues.
   * `call` is over when the server has answered, or nobody waits for its answer any more.
   */
  onAsked?: ((call: AskingCall) => void) | undefined;
  /** Called when the request has been handed to the connection. */
  onSent?: (() => void) | undefined;
}

/** A call that continues while its caller answers a question. */
export interface AskingCall {
  readonly over: Promise<void>;
  /** Ends the call, down to the server. */
  stop(): void;
}

/** The end of a tool call: the whole MCP result as the server sent it, also an error of the tool, or no result. */
export type ToolCallResult = { result: Record<string, unknown> } | FailedCall;

/** A call without a result. `error.may_have_run` tells whether the tool may have taken effect. */
export interface FailedCall {
  /** The error that the caller gets. */
  error: ToolCallError;
  /** The failure on the way to the server, if there was one. */
  failure?: Failure;
  /** True for an error that concerns only this caller, not others who wait for the same answer. */
  isCallersOwn?: boolean;
}
