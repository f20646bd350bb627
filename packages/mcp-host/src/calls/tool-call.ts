import {
  isRunningCallState,
  type McpContentMethod,
  type Tool,
  type ToolCallError,
} from '@signalbox/protocol';
import type { CallOptions, FailedCall } from '../tool-calls/index.ts';

/** A call of one of a server's tools. */
export interface ToolCall {
  /** The tool as its server named it. */
  tool: Tool;
  /** Set for a request of another method than `tools/call`: `args` are its parameters, and `tool` stands for it. */
  method?: McpContentMethod | undefined;
  /** The arguments as the server gets them. */
  args: Record<string, unknown>;
  /** The reason why the call may only continue a running one: the arguments do not fit the present definition of the tool. */
  unfit?: ToolCallError | undefined;
  options: CallOptions;
  /**
   * Returns the reason why the call must not be sent now, because of the definition of its tool or prompt. It is called right before the
   * call is sent.
   */
  barred?: (() => ToolCallError | undefined) | undefined;
  /** Called in place of `onAsked` of the options. */
  onAsked?: CallOptions['onAsked'];
  /** The end of the call's time, in milliseconds of the host's clock. */
  deadline: number;
}

/** Returns the call without its answers, for a call that has ended meanwhile: it is made from its beginning. */
export function firstRoundOf(call: ToolCall): ToolCall {
  if (!isRunningCallState(call.options.round?.requestState)) return call;
  const { round, ...options } = call.options;
  const { inputResponses: _responses, requestState: _state, ...first } = round ?? {};
  return { ...call, options: { ...options, round: first } };
}

/** Makes a tool that stands for a method: a request of it has no effect and may be repeated. */
export function methodTool(method: McpContentMethod): Tool {
  return { name: method, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
}

/** Returns true if a call failed because its server could not be reached: the tool did not run. */
export function isUnsent({ error }: FailedCall): boolean {
  return error.code === 'mcp_server_unreachable' && !error.may_have_run;
}
