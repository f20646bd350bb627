import type { CancelSignal } from '@signalbox/client';
import {
  type CallRequest,
  type CallRound,
  isJsonObject,
  type McpLogLevel,
  type McpLogMessage,
  type RequestMeta,
  type Tool,
  toWireRound,
} from '@signalbox/protocol';

/** A call of a tool. */
export interface ToolCall {
  /** The name of the tool, as the executor lists it. */
  name: string;
  /** An object, or the JSON text of one. */
  arguments?: unknown;
}

/** The time limits, the cancellation and the callbacks of a call. */
export interface ExecuteOptions {
  /** Aborting it cancels the call, down to the MCP server. */
  signal?: CancelSignal | undefined;
  /** The deadline of the call, waiting included, and the tool's own timeout, in milliseconds; by default those of the executor. */
  timeoutMs?: number | undefined;
  /** The id of the call's request, unique for each agent, so that it can be asked about after a crash; by default a new one. */
  requestId?: string | undefined;
  /** True if no call with this `requestId` was ever made. */
  isFirst?: boolean | undefined;
  /**
   * Set if another process may make the same call again, with its id, after the death of this one: the broker keeps the reply until the
   * promise resolves. If the call was made before, the orchestrator is asked for its end.
   */
  mayBeRepeated?: Promise<void> | undefined;
  /**
   * With `mayBeRepeated`: the epoch of the lane on which this process or an earlier one may start the call, the same in each repetition.
   * Without it, a call goes on no lane unless its tool is safe to repeat.
   */
  epoch?: string | undefined;
  /** True if the call may become a task: then it goes through the broker, which keeps it. */
  mayBeTask?: boolean | undefined;
  /** The `traceparent` of the work that causes the call; by default that of the active span. An invalid one is left out. */
  traceparent?: string | undefined;
  /** Further fields for the `_meta` of the request to the tool's server, except those that MCP or Signalbox reserve. */
  meta?: RequestMeta | undefined;
  /** Called with the progress that the MCP server reports while the call runs. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** The least level of the log messages that `onLogMessage` gets; default `info`. */
  logLevel?: McpLogLevel | undefined;
  /** Called with the log messages of the MCP server while the call runs. */
  onLogMessage?: ((message: McpLogMessage) => void) | undefined;
  /** Called with the id of an approval when the call begins to wait for a person's decision, and with `undefined` when it continues. */
  onAwaitingApproval?: ((approval: string | undefined) => void) | undefined;
}

/** Progress in MCP's form: `progress` grows, towards `total` if that is known. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
  /** The MCP server's own fields. */
  _meta?: RequestMeta;
}

/** Makes the body of the request for a call. */
export function callBody(
  { name, arguments: args }: ToolCall,
  options: {
    timeoutMs: number | undefined;
    progress: boolean;
    logLevel: McpLogLevel | undefined;
    round: CallRound | undefined;
    meta: RequestMeta | undefined;
  },
): CallRequest {
  const { timeoutMs, progress, logLevel, round, meta } = options;
  // Every call makes a body, and adding a field is far cheaper than spreading one that may be missing.
  const body: CallRequest = { op: 'call', tool: name };
  if (args !== undefined) body.arguments = args;
  body.options = {};
  if (timeoutMs !== undefined) body.options.timeout_ms = timeoutMs;
  if (progress) body.options.progress = progress;
  if (logLevel) body.options.log_level = logLevel;
  if (round) body.round = toWireRound(round);
  if (meta) body.meta = meta;
  return body;
}

/** Makes a tool that stands for one that is not listed; only its name is known. */
export function unlistedTool(name: string): Tool {
  return { name, inputSchema: { type: 'object' } };
}

/** The longest message of a progress, in characters. */
const maxMessage = 4096;

/**
 * Passes on the progress that the orchestrator or another agent reports, if it can be read. Fields that MCP does not know, or that have
 * another type, are left out: a client may refuse them, or end its session.
 */
export function relayProgress(body: unknown, onProgress: (progress: ToolProgress) => void): void {
  if (!isJsonObject(body)) return;
  const { progress, total, message, _meta: meta } = body;
  if (!Number.isFinite(progress)) return;
  onProgress({
    progress: progress as number,
    ...(Number.isFinite(total) && { total: total as number }),
    ...(typeof message === 'string' && { message: message.slice(0, maxMessage) }),
    ...(isJsonObject(meta) && { _meta: meta }),
  });
}

/** Passes on the orchestrator's reports about a call: its progress, the log messages of its server, and whether it waits for a decision. */
export function relayCallProgress(
  body: unknown,
  {
    onProgress,
    onLogMessage,
    onAwaitingApproval,
  }: Pick<ExecuteOptions, 'onProgress' | 'onLogMessage' | 'onAwaitingApproval'>,
): void {
  const { awaiting_approval: approval, log, ...progress } = (body ?? {}) as Record<string, unknown>;
  if (isJsonObject(log)) {
    onLogMessage?.(log as unknown as McpLogMessage);
    return;
  }
  if (approval === false) onAwaitingApproval?.(undefined);
  else if (isJsonObject(approval) && typeof approval.id === 'string') onAwaitingApproval?.(approval.id);
  if (onProgress) relayProgress(progress, onProgress);
}
