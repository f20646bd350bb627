import { isRunningCallState, type OfferMethod, type Tool, type ToolCallError } from '@signalbox/protocol';
import type { CallOptions, FailedCall } from '@signalbox/tool-calls';

/** A call of one of a server's tools. */
export interface ToolCall {
  /** The tool as its server named it. */
  tool: Tool;
  /** Set for a request of another method than `tools/call`: `args` are its parameters, and `tool` stands for it. */
  method?: OfferMethod;
  args: Record<string, unknown>;
  options: CallOptions;
  /** Returns why the call must not be sent now, because of the definition of its tool or prompt; asked right before it is sent. */
  barred?: () => ToolCallError | undefined;
  /** When the time of the call is up, in milliseconds on the clock of the host. */
  deadline: number;
}

/** Returns a call without answers to a call that runs no more: it is made from its beginning. */
export function firstRoundOf(call: ToolCall): ToolCall {
  const { round, ...options } = call.options;
  if (!isRunningCallState(round?.requestState)) return call;
  const { clientCapabilities } = round;
  return { ...call, options: { ...options, round: { ...(clientCapabilities && { clientCapabilities }) } } };
}

/** Makes what stands for a method where a tool is expected: a request of it has no effect and may be repeated. */
export function methodTool(method: OfferMethod): Tool {
  return { name: method, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
}

/** Whether a call failed because its server could not be reached, so that the tool did not run. */
export function isUnsent({ error }: FailedCall): boolean {
  return error.code === 'mcp_server_unreachable' && !error.may_have_run;
}
