import type { Tool } from '@signalbox/protocol';
import type { CallOptions, FailedCall } from '@signalbox/tool-calls';

/** A call of one of a server's tools. */
export interface ToolCall {
  /** The tool as its server named it. */
  tool: Tool;
  args: Record<string, unknown>;
  options: CallOptions;
  /** When the time of the call is up, in milliseconds on the clock of the host. */
  deadline: number;
}

/** Whether a call failed because its server could not be reached, so that the tool did not run. */
export function isUnsent({ error }: FailedCall): boolean {
  return error.code === 'mcp_server_unreachable' && !error.may_have_run;
}
