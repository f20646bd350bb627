import type { CancelSignal } from '@signalbox/client';
import type {
  CallRound,
  InputRequired,
  McpLogLevel,
  McpLogMessage,
  RequestMeta,
  Tool,
} from '@signalbox/protocol';
import type { ToolProgress } from '../executor/tool-call.ts';
import type { TaskFields } from '../tasks/task-fields.ts';
import type { ToolResult } from './tool-result.ts';

/** The reason for aborting a call whose client has hung up. Nobody has cancelled the call, so it continues where it runs. */
export const clientGone: unique symbol = Symbol('the client has hung up');

/** The identity of a call that may be repeated. */
export interface CallKey {
  /** The id of the call's message at the broker, the same each time, so that the message is stored once. */
  id: string;
  /** True if no other process has had the call. */
  isFirst: boolean;
  /** Resolves when the answer has left this process, or the client no longer wants one: then the call is not repeated. */
  over: Promise<void>;
  /** True if the client has the answer already. The call is repeated, at another process, only to continue the work that it began. */
  isAnswered: boolean;
  /** The epoch of the lane on which the call may be started, if the process that repeats the call knows it. */
  epoch?: string | undefined;
  /** Makes the call be repeated at another process even when it is answered, until the promise resolves. */
  outlive(until: Promise<void>): void;
}

/** One call of a tool by an agent. */
export interface FaceCall {
  name: string;
  /** An object, or the JSON text of one. */
  arguments: unknown;
  /** Aborted when the client cancels the call, when the face ends, and (with the reason {@link clientGone}) when the client hangs up. */
  signal: CancelSignal;
  /** The kinds of input that the client can be asked for, and its answers in a further round of one call. */
  round: CallRound;
  /** Names the session of the client, if its connection carries several. */
  session?: string | undefined;
  /** The name that the client gives itself. */
  client?: string | undefined;
  /** Set if the call may be repeated at another process after the death of this one. */
  key?: CallKey | undefined;
  /** The `traceparent` of the call's span, or, without tracing, the valid one that the client gave. */
  traceparent?: string | undefined;
  /** Set if the client takes a task in place of a result that takes long (MCP 2026-07-28, SEP-2663). */
  mayBeTask?: boolean | undefined;
  /** The fields of the client's `_meta` that are for the tool's server. */
  meta?: RequestMeta | undefined;
  /** Set if the client asked for progress. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The least level of the log messages that the client has asked for. */
  logLevel?: McpLogLevel | undefined;
  /** Called with the log messages of the tool's server while the call runs. */
  onLogMessage?: ((message: McpLogMessage) => void) | undefined;
  /** Called with the id of an approval when the call begins to wait for a person's decision, and with `undefined` when it continues. */
  onAwaitingApproval?: ((approval: string | undefined) => void) | undefined;
}

/** The answer to a call that has become a task: the client asks for the result later. */
export type TaskHandle = { resultType: 'task' } & TaskFields;

/**
 * The result of a call; `outputSchema` is the one with which its tool is listed. A result that asks for input, unchanged from the MCP
 * server, ends only this round: the client then calls again with the answers. A task ends nothing.
 */
export interface FaceAnswer {
  result: ToolResult | InputRequired | TaskHandle;
  outputSchema?: Tool['outputSchema'] | undefined;
}

/** Returns true if a result ends its call. */
export function endsCall(result: FaceAnswer['result']): result is ToolResult {
  return result.resultType !== 'input_required' && result.resultType !== 'task';
}

/** A set of tools that one agent is shown. */
export interface FaceTools {
  /** Lists the tools in the order in which clients see them. */
  list(): Tool[];
  /**
   * Calls a tool; returns `undefined` if it has no tool of that name. A failure of the tool is a result with `isError`; rejects with
   * `JsonRpcError` if MCP requires an error instead.
   */
  call(call: FaceCall): Promise<FaceAnswer> | undefined;
  /** Calls `listener` at each change of the list; returns a function that removes it. */
  onChanged(listener: () => void): () => void;
  /** Returns instructions for a model about these tools, a sentence or two per item. */
  instructions(): string[];
}
