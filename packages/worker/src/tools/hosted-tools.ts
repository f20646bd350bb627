import { newMessageId } from '@signalbox/client';
import { isInputRequired, type ToolCallError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { CallsUnderWay } from './calls-under-way.ts';
import { clientGone, type FaceAnswer, type FaceCall, type FaceTools } from './face-tools.ts';
import { invalidParams, JsonRpcError } from './json-rpc-error.ts';
import { failedResultOf, toolResultOf } from './tool-result.ts';

/** The tools that the orchestrator hosts, as far as the role may see them. It accepts every name; an unknown tool is an error. */
export function hostedTools(executor: McpProxyExecutor, calls?: CallsUnderWay): FaceTools {
  return {
    list: () => executor.listTools(),
    call: (call) => callHosted(executor, call, { calls, onUnknown: refuse }),
    onChanged: (listener) => executor.onManifestChanged(listener),
    instructions: () => [
      `The tools of MCP servers are shared by a fleet of agents; you are '${executor.agent}' and see those that the role '${executor.role}' may use.`,
      'A tool that is named mcp_SERVER__TOOL belongs to the MCP server SERVER. The list can change while you work.',
      'When a call fails (isError), the text says why and what to do; structuredContent.error holds the same as data: code, retryable, may_have_run and sometimes retry_after_seconds.',
      'Repeat a failed call only if retryable is true. If may_have_run is true, first find out whether the call took effect.',
    ],
  };
}

export interface HostedCallOptions {
  /** Is told of the call. */
  calls?: CallsUnderWay | undefined;
  /** Called if there is no tool of this name. The call rejects with what it throws; otherwise the result says so. */
  onUnknown?: (unknown: ToolCallError) => void;
}

/** Calls a hosted tool. Rejects with `JsonRpcError` if the MCP server itself answered with a JSON-RPC error. */
export async function callHosted(
  executor: McpProxyExecutor,
  call: FaceCall,
  { calls, onUnknown }: HostedCallOptions,
): Promise<FaceAnswer> {
  const tool = executor.findTool(call.name);
  const { signal, onProgress, round, key, traceparent, meta } = call;
  const requestId = key?.id ?? newMessageId();
  const running = executor.executeRound(call, round, {
    requestId,
    signal: cancelOf(signal),
    onProgress,
    traceparent,
    meta,
    ...(key && { mayBeRepeated: key.over }),
  });
  calls?.add(requestId, call.name, running);
  const { result, error } = await whileClientWaits(running, signal);
  if (error?.rpc_error) {
    const { code, message, data } = error.rpc_error;
    throw new JsonRpcError(code, message, data);
  }
  if (!tool && error?.code === 'tool_not_found') onUnknown?.(error);
  const outputSchema = tool?.outputSchema;
  if (error) return { result: failedResultOf(error, tool, requestId), outputSchema };
  return { result: isInputRequired(result) ? result : toolResultOf(result), outputSchema };
}

/** Returns a signal that aborts when the call is cancelled, and not when its client hangs up. */
function cancelOf(signal: AbortSignal): AbortSignal {
  const cancel = new AbortController();
  const pass = (): void => {
    if (signal.reason !== clientGone) cancel.abort(signal.reason);
  };
  if (signal.aborted) pass();
  else signal.addEventListener('abort', pass, { once: true });
  return cancel.signal;
}

/** Resolves as the call does, and rejects when its client hangs up. */
async function whileClientWaits<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  const gone = Promise.withResolvers<never>();
  const giveUp = (): void => {
    if (signal.reason === clientGone) gone.reject(new Error('the client has hung up'));
  };
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([running, gone.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function refuse({ message, hint }: ToolCallError): never {
  throw new JsonRpcError(invalidParams, [message, hint].join('. '));
}
