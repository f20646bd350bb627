import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import { type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Failure } from './failure.ts';

/** The facts a failed call is judged by. `server` is its name in the configuration. */
export interface CallFacts {
  server: string;
  tool: Tool;
  /** Whether the call may be made again although it was sent. */
  repeatable: boolean;
  /** Whether the caller gave up, which the failure itself doesn't tell. */
  aborted: boolean;
}

/** Tells a caller how a call ended that the server may or may not have run. */
export function reportFailure(
  failure: Failure,
  { server, tool, repeatable, aborted }: CallFacts,
): ToolCallError {
  switch (failure.kind) {
    case 'timed_out':
      return aborted ? cancelledCall(tool, true) : timedOutCall(tool, repeatable);
    case 'not_sent':
      return unreachable(server, failure.reason);
    case 'refused':
      return toolCallError(
        'mcp_server_unreachable',
        `server '${server}' refused the call: ${failure.reason}`,
        {
          mayHaveRun: false,
          retryable: failure.status === 408 || failure.status === 429,
        },
      );
    case 'lost':
      return repeatable
        ? toolCallError(
            'mcp_server_unreachable',
            `server '${server}' was lost during the call: ${failure.reason}`,
            {
              mayHaveRun: true,
              retryable: true,
            },
          )
        : outcomeUnknown(`server '${server}' was lost while '${tool.name}' ran (${failure.reason})`);
    case 'answered':
      return answeredError(failure.code, `server '${server}': ${failure.reason}`);
    case 'bad_answer':
      return toolCallError('internal', `server '${server}': ${failure.reason}`, { mayHaveRun: true });
  }
}

export function cancelledCall(tool: Tool, mayHaveRun: boolean): ToolCallError {
  return toolCallError('cancelled', `the call of '${tool.name}' was cancelled`, { mayHaveRun });
}

export function unreachable(server: string, reason: string): ToolCallError {
  return toolCallError('mcp_server_unreachable', `server '${server}' is not available: ${reason}`, {
    mayHaveRun: false,
  });
}

/** "Try again" would be the wrong advice for a call that may have had its effect, so such a timeout is `outcome_unknown`. */
function timedOutCall(tool: Tool, repeatable: boolean): ToolCallError {
  const message = `the call of '${tool.name}' took longer than its deadline allows`;
  return repeatable ? toolCallError('tool_timeout', message, { mayHaveRun: true }) : outcomeUnknown(message);
}

function outcomeUnknown(what: string): ToolCallError {
  return toolCallError('outcome_unknown', `${what}; nobody knows whether it took effect`, {
    mayHaveRun: true,
    hint: 'check what the tool changed before you call it again',
  });
}

const neverRun = new Set<number>([
  ProtocolErrorCode.InvalidParams,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.ParseError,
]);

function answeredError(code: number, message: string): ToolCallError {
  if (code === ProtocolErrorCode.InvalidParams)
    return toolCallError('invalid_arguments', message, { mayHaveRun: false });
  return toolCallError('internal', message, { mayHaveRun: !neverRun.has(code) });
}
