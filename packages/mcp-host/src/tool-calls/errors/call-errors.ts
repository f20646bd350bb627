import { type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Failure } from './failure.ts';
import { mcpErrorCode } from './mcp-error-code.ts';

const operatorMustHelp =
  "The operator of the gateway must mend the server's credentials. Calling again will not help.";

/** The facts that the error of a failed call depends on, besides the failure itself. */
export interface CallFacts {
  /** The name of the server in the configuration. */
  server: string;
  tool: Tool;
  /** True if the call may be made again although it was sent. */
  repeatable: boolean;
  /** True if the caller cancelled the call. The failure itself doesn't show it. */
  aborted: boolean;
}

/** Returns the error that tells a caller how its call failed, and whether the tool may have run. */
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
      return lostCall(server, tool, failure, repeatable);
    case 'answered':
      return answeredError(failure, { message: `server '${server}': ${failure.reason}`, repeatable });
    case 'too_large':
      return toolCallError('result_too_large', `server '${server}': ${failure.reason}`, {
        mayHaveRun: true,
        hint: 'Ask for less at once: a filter, a smaller range or a page.',
      });
    case 'told':
      return failure.error;
    case 'bad_answer':
      return toolCallError('internal', `server '${server}': ${failure.reason}`, { mayHaveRun: true });
  }
}

/** Returns the error for a call that its caller cancelled. */
export function cancelledCall(tool: Tool, mayHaveRun: boolean): ToolCallError {
  return toolCallError('cancelled', `the call of '${tool.name}' was cancelled`, { mayHaveRun });
}

/** The facts about a server whose last starts have all failed. */
export interface Outage {
  failedStarts: number;
  /** The longest time that a call waits meanwhile, in milliseconds. */
  waitMs: number;
  /** The time until the next start, in milliseconds; `undefined` while one is under way. */
  nextStartMs: number | undefined;
}

/** Returns the error for a call that was not made because its server is not up. `reason` must be free of secrets. */
export function unreachable(server: string, reason: string, outage?: Outage): ToolCallError {
  const what = `server '${server}' is not available: ${reason}`;
  if (!outage) {
    return toolCallError('mcp_server_unreachable', what, {
      mayHaveRun: false,
      hint: 'The call was not made. Wait until it is up, or use another tool.',
      causeChain: [reason],
    });
  }
  const { failedStarts, waitMs, nextStartMs } = outage;
  const seconds = Math.max(1, Math.ceil((nextStartMs ?? 0) / 1000));
  const next =
    nextStartMs === undefined ? 'the next one is under way' : `the next one begins in ${seconds} s`;
  return toolCallError(
    'mcp_server_unreachable',
    `${what}; ${failedStarts} attempts in a row to start or reach it have failed, and ${next}`,
    {
      mayHaveRun: false,
      retryAfterSeconds: seconds,
      hint: `The call was not made: it waits at most ${waitMs / 1000} s for a server that is down. Wait for the next attempt, or use another tool.`,
      causeChain: [reason],
    },
  );
}

/** Returns the error for a call that the circuit breaker did not let through. */
export function circuitOpen(
  server: string,
  { failures, retryAfterMs, cause }: { failures: number; retryAfterMs: number; cause: string | undefined },
): ToolCallError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const next =
    retryAfterMs > 0 ? `it is left alone for another ${seconds} s` : 'one call is testing whether it is back';
  return toolCallError(
    'mcp_server_unreachable',
    `server '${server}' is not available: it failed ${failures} times in a row, and ${next}`,
    {
      mayHaveRun: false,
      retryAfterSeconds: seconds,
      hint: `The call was not made. Wait ${seconds} s before you call a tool of '${server}', or use another tool.`,
      ...(cause !== undefined && { causeChain: [cause] }),
    },
  );
}

/** Returns the error of a second attempt, with the facts that the first one adds. */
export function withEarlierTry(error: ToolCallError, first: Failure): ToolCallError {
  const causes = [...(error.cause_chain ?? []), `the first try: ${first.reason}`];
  const later = { ...error, cause_chain: causes };
  if (error.may_have_run || first.kind !== 'lost') return later;
  return { ...later, may_have_run: true, hint: 'The first try may have run. This tool is safe to repeat.' };
}

/** Returns the error for answers to a call that does not wait for answers, and that may not be made again. */
export function noWaitingCall(tool: Tool): ToolCallError {
  return outcomeUnknown(
    `no call of '${tool.name}' of yours waits for these answers: it has ended, was answered before, or was lost with its server or the orchestrator`,
    [],
  );
}

function lostCall(
  server: string,
  tool: Tool,
  { reason, retryAfterSeconds }: Failure & { kind: 'lost' },
  repeatable: boolean,
): ToolCallError {
  if (!repeatable)
    return outcomeUnknown(`server '${server}' was lost while '${tool.name}' ran (${reason})`, [reason]);
  return toolCallError('mcp_server_unreachable', `server '${server}' was lost during the call: ${reason}`, {
    mayHaveRun: true,
    hint: 'This tool is safe to repeat: call it again.',
    causeChain: [reason],
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

function refusedCall(
  server: string,
  { status, reason, retryAfterSeconds }: Failure & { kind: 'refused' },
): ToolCallError {
  const isPassing = status === 408 || status === 429;
  const hint = isPassing
    ? 'The server is busy.'
    : status === 401 || status === 403
      ? operatorMustHelp
      : undefined;
  return toolCallError('mcp_server_unreachable', `server '${server}' refused the call: ${reason}`, {
    mayHaveRun: false,
    retryable: isPassing,
    causeChain: [reason],
    ...(hint !== undefined && { hint }),
    ...(isPassing && retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

/**
 * Returns the error for a call that timed out. If it may have had its effect, that is `outcome_unknown`, because "try again" would be the
 * wrong advice.
 */
function timedOutCall(tool: Tool, repeatable: boolean): ToolCallError {
  const message = `the call of '${tool.name}' took longer than its deadline allows`;
  if (!repeatable) return outcomeUnknown(message, []);
  return toolCallError('tool_timeout', message, {
    mayHaveRun: true,
    hint: 'This tool is safe to repeat: call it again with more time, or ask it for less.',
  });
}

function outcomeUnknown(what: string, causeChain: string[]): ToolCallError {
  return toolCallError('outcome_unknown', `${what}; nobody knows whether it took effect`, {
    mayHaveRun: true,
    hint: 'Check what the tool changed before you call it again.',
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

/** Codes about our own connection to the server. They are not passed on, because a caller would think that its own connection is broken. */
const aboutConnection = new Set<number>([
  mcpErrorCode.parseError,
  mcpErrorCode.unsupportedProtocolVersion,
  mcpErrorCode.headerMismatch,
]);

function answeredError(
  { code, reason, data, retryAfterSeconds }: Failure & { kind: 'answered' },
  { message, repeatable }: { message: string; repeatable: boolean },
): ToolCallError {
  const rpcError = { code, message: reason, ...(data !== undefined && { data }) };
  const own = aboutConnection.has(code) ? {} : { rpcError };
  if (code === mcpErrorCode.invalidParams) {
    return toolCallError('invalid_arguments', message, {
      mayHaveRun: false,
      hint: "Compare the arguments with the tool's inputSchema.",
      ...own,
    });
  }
  const mayHaveRun = !neverRun.has(code);
  const later = retryAfterSeconds !== undefined && {
    retryAfterSeconds,
    retryable: repeatable || !mayHaveRun,
  };
  return toolCallError('internal', message, { mayHaveRun, ...later, ...own });
}
