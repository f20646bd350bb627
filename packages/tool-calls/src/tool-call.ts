import type { CallRound, RequestMeta, ToolCallError } from '@signalbox/protocol';
import type { Failure } from './errors/failure.ts';

/** The agent that a call is made for, as the broker attests it. */
export interface Caller {
  agent: string;
  role: string;
}

/** How far a call has come, as its server reports it. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
  /** Fields of the server's own, without those that MCP or Signalbox reserve. */
  _meta?: RequestMeta;
}

/** How a call is to be made, and who is told how far it has come. */
export interface CallOptions {
  /** Cancels the call when it aborts. */
  signal: AbortSignal;
  /** Bounds the whole call in milliseconds, a wait for the server included. */
  timeoutMs: number;
  /** Decides which instance serves the call, and whose cached answers it may read. */
  caller?: Caller | undefined;
  /**
   * What the caller can be asked for, and what it answered in a further round.
   */
  round?: CallRound | undefined;
  /** The `traceparent` of what causes the call, which the server is told, or that of a span below it. */
  traceparent?: string | undefined;
  /** Further fields for the `_meta` of the request to the server. */
  meta?: RequestMeta | undefined;
  /** Called with each progress report while the call is under way. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Whether a call that was sent may be made again. Default: what the tool declares. */
  repeatable?: boolean | undefined;
  /** Awaited right before each sending, when a connection is there; an error ends the call unsent. */
  beforeSend?: (() => Promise<ToolCallError | undefined>) | undefined;
  /** The time for which the caller waits, its own answers to questions of the server included; default `timeoutMs`. */
  patienceMs?: number | undefined;
  /**
   * Called when the server asks the caller in the middle of the call, for the first time: `call` then goes on while this round ends. It is over
   * when the server has answered, or nobody waits for its answer any more.
   */
  onAsked?: ((call: AskingCall) => void) | undefined;
  /** Called when the request has been handed to the connection. */
  onSent?: (() => void) | undefined;
}

/** A call that goes on while its caller answers a question. */
export interface AskingCall {
  readonly over: Promise<void>;
  /** Ends it, down to the server. */
  stop(): void;
}

/**
 * How a tool call ended: with the whole MCP result as the server sent it, errors of the tool included, or without one.
 */
export type ToolCallResult = { result: Record<string, unknown> } | FailedCall;

/** A call without a result. `error.may_have_run` tells whether the tool may have taken effect. */
export interface FailedCall {
  /** The error that the caller is told. */
  error: ToolCallError;
  /** How the way to the server failed, if it did. */
  failure?: Failure;
  /** True for an error that concerns this caller alone, not those who wait for the same answer. */
  isCallersOwn?: boolean;
}
