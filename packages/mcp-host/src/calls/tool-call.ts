import type { CallRound, Tool, ToolCallError } from '@signalbox/protocol';
import type { Caller } from '../config/instance-name.ts';
import type { Failure } from '../failures/failure.ts';
import type { ToolProgress } from '../server-connection.ts';

/** How a call is to be made, and who is told how far it has come. */
export interface CallOptions {
  /** Cancels the call when it aborts. */
  signal: AbortSignal;
  /** Bounds the whole call in milliseconds, a wait for the server included. */
  timeoutMs: number;
  /** Decides which instance serves the call, and whose cached answers it may read. */
  caller?: Caller | undefined;
  /**
   * What the caller can be asked for, and what it answered in a further round; only a server of the 2026 revision is
   * told.
   */
  round?: CallRound | undefined;
  /** Called with each progress report while the call is under way. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Whether a call that was sent may be made again. Default: what the tool declares. */
  repeatable?: boolean | undefined;
  /** Awaited right before each sending, when a connection is there; an error ends the call unsent. */
  beforeSend?: (() => Promise<ToolCallError | undefined>) | undefined;
  /** Called when the request has been handed to the connection. */
  onSent?: (() => void) | undefined;
}

/** A call of one of a server's tools. */
export interface ToolCall {
  /** The tool as its server named it. */
  tool: Tool;
  args: Record<string, unknown>;
  options: CallOptions;
  /** When the time of the call is up, in milliseconds on the clock of the host. */
  deadline: number;
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

/** Whether a call failed because its server could not be reached, so that the tool did not run. */
export function isUnsent({ error }: FailedCall): boolean {
  return error.code === 'mcp_server_unreachable' && !error.may_have_run;
}
