import { type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Failure } from './failure.ts';
import { mcpErrorCode } from './mcp-error-code.ts';

const operatorMustHelp =
  "whoever runs the gateway must look after the server's credentials; calling again will not help";

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
export function errorOfFailure(
  failure: Failure,
  { server, tool, repeatable, aborted }: CallFacts,
): ToolCallError {
  switch (failure.kind) {
    case 'timed_out':
      return aborted ? cancelledCall(tool, true) : timedOutCall(tool, repeatable);
    case 'not_sent':
      return unreachable(server, failure.reason);
    case 'refused':
      return refusedCall(server, failure);
    case 'no_access':
      return toolCallError(
        'mcp_server_unreachable',
        `server '${server}' gives the gateway no access: ${failure.reason}`,
        { mayHaveRun: false, retryable: false, hint: operatorMustHelp, causeChain: [failure.reason] },
      );
    case 'lost':
      return repeatable
        ? toolCallError(
            'mcp_server_unreachable',
            `server '${server}' was lost during the call: ${failure.reason}`,
            {
              mayHaveRun: true,
              hint: 'this tool is safe to repeat: call it again',
              causeChain: [failure.reason],
            },
          )
        : outcomeUnknown(`server '${server}' was lost while '${tool.name}' ran (${failure.reason})`, [
            failure.reason,
          ]);
    case 'answered':
      return answeredError(failure, `server '${server}': ${failure.reason}`);
    case 'bad_answer':
      return toolCallError('internal', `server '${server}': ${failure.reason}`, { mayHaveRun: true });
  }
}

export function cancelledCall(tool: Tool, mayHaveRun: boolean): ToolCallError {
  return toolCallError('cancelled', `the call of '${tool.name}' was cancelled`, { mayHaveRun });
}

/** `reason` must be free of secrets. */
export function unreachable(server: string, reason: string): ToolCallError {
  return toolCallError('mcp_server_unreachable', `server '${server}' is not available: ${reason}`, {
    mayHaveRun: false,
    hint: 'the call was not made; try again later or use another tool',
    causeChain: [reason],
  });
}

/** What a caller is told whom the circuit breaker didn't let through. */
export function circuitOpen(
  server: string,
  { failures, retryAfterMs, cause }: { failures: number; retryAfterMs: number; cause: string | undefined },
): ToolCallError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const next =
    retryAfterMs > 0
      ? `it is left alone for another ${seconds} s`
      : 'one call is finding out whether it is back';
  return toolCallError(
    'mcp_server_unreachable',
    `server '${server}' is not available: it failed ${failures} times in a row, and ${next}`,
    {
      mayHaveRun: false,
      retryAfterSeconds: seconds,
      hint: `the call was not made; wait ${seconds} s before you call a tool of '${server}', or use another tool`,
      ...(cause !== undefined && { causeChain: [cause] }),
    },
  );
}

/** The error of a second try, with what the first one adds to it. */
export function withEarlierTry(error: ToolCallError, first: Failure): ToolCallError {
  const causes = [...(error.cause_chain ?? []), `the first try: ${first.reason}`];
  const mayHaveRun = error.may_have_run || first.kind === 'lost';
  return { ...error, may_have_run: mayHaveRun, cause_chain: causes };
}

function refusedCall(server: string, { status, reason }: Failure & { kind: 'refused' }): ToolCallError {
  const isPassing = status === 408 || status === 429;
  const hint = isPassing
    ? 'the server is busy: try again later'
    : status === 401 || status === 403
      ? operatorMustHelp
      : undefined;
  return toolCallError('mcp_server_unreachable', `server '${server}' refused the call: ${reason}`, {
    mayHaveRun: false,
    retryable: isPassing,
    causeChain: [reason],
    ...(hint !== undefined && { hint }),
  });
}

/** "Try again" would be the wrong advice for a call that may have had its effect, so such a timeout is `outcome_unknown`. */
function timedOutCall(tool: Tool, repeatable: boolean): ToolCallError {
  const message = `the call of '${tool.name}' took longer than its deadline allows`;
  if (!repeatable) return outcomeUnknown(message, []);
  return toolCallError('tool_timeout', message, {
    mayHaveRun: true,
    hint: 'call it again with more time, or ask it for less',
  });
}

function outcomeUnknown(what: string, causeChain: string[]): ToolCallError {
  return toolCallError('outcome_unknown', `${what}; nobody knows whether it took effect`, {
    mayHaveRun: true,
    hint: 'check what the tool changed before you call it again',
    causeChain,
  });
}

const neverRun = new Set<number>([
  mcpErrorCode.invalidParams,
  mcpErrorCode.methodNotFound,
  mcpErrorCode.invalidRequest,
  mcpErrorCode.parseError,
  mcpErrorCode.missingRequiredClientCapability,
  mcpErrorCode.unsupportedProtocolVersion,
  mcpErrorCode.headerMismatch,
]);

/** About our own connection to the server: its caller's connection is another one, and must not be taken for broken. */
const ofTheConnection = new Set<number>([
  mcpErrorCode.parseError,
  mcpErrorCode.unsupportedProtocolVersion,
  mcpErrorCode.headerMismatch,
]);

function answeredError(failure: Failure & { kind: 'answered' }, message: string): ToolCallError {
  const { code, reason, data } = failure;
  const rpcError = { code, message: reason, ...(data !== undefined && { data }) };
  const own = ofTheConnection.has(code) ? {} : { rpcError };
  if (code === mcpErrorCode.invalidParams) {
    return toolCallError('invalid_arguments', message, {
      mayHaveRun: false,
      hint: "compare the arguments with the tool's inputSchema",
      ...own,
    });
  }
  return toolCallError('internal', message, { mayHaveRun: !neverRun.has(code), ...own });
}
