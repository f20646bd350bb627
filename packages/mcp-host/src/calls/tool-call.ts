import type { CallRound, ToolCallError } from '@signalbox/protocol';
import type { ToolProgress } from '../sdk/connect-server.ts';

/** `signal` cancels the call; `timeoutMs` bounds all of it, a wait for the server included. */
export interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** For whom the call is made, as the broker attests it; decides which instance serves it and whose cache it may read. */
  caller?: { agent: string; role: string } | undefined;
  /** What the caller can be asked for, and what it answered in a further round; only a server of the 2026 revision is told. */
  round?: CallRound | undefined;
  /** Called only while the call is under way. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Whether a call that was sent may be made again; what the tool declares, unless given. */
  repeatable?: boolean | undefined;
  /** Awaited when a connection is there, right before each sending; an error ends the call unsent. */
  beforeSend?: (() => Promise<ToolCallError | undefined>) | undefined;
  /** The request has been handed to the connection. */
  onSent?: (() => void) | undefined;
}

/** The whole MCP result as the server sent it (`isError` and `input_required` results too), or why there is none. */
export type ToolCallResult = { result: Record<string, unknown> } | { error: ToolCallError };
