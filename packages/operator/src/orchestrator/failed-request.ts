import { type McpRequest, SignalboxError, type ToolErrorCode, toolCallError } from '@signalbox/protocol';
import { type FailedOutcome, outcomeError } from './failed-outcome.ts';

/** Turns a request to the orchestrator without a reply into an error. For a call it has every field of a `ToolCallError`. */
export function failedRequest(
  outcome: FailedOutcome,
  request: McpRequest,
  orchestrator: string,
): SignalboxError {
  const plain = outcomeError(outcome, orchestrator);
  const error = nobodyServes(plain) ? noOrchestrator(plain, orchestrator) : plain;
  if (request.op !== 'call') return error;
  const { mayHaveRun } = outcome;
  const { hint } = error.details;
  const wanted = codeOf(outcome);
  const unsure = mayHaveRun && wanted !== 'cancelled';
  const { code, message, retryable, ...details } = toolCallError(
    unsure ? 'outcome_unknown' : wanted,
    mayHaveRun ? `${error.message}; '${request.tool}' may have run` : error.message,
    {
      mayHaveRun,
      ...(!mayHaveRun && wanted !== 'cancelled' && { retryable: error.retryable }),
      ...(typeof hint === 'string' && { hint }),
      ...(mayHaveRun && { hint: 'find out whether it took effect before you call it again' }),
      causeChain: [plain.code],
    },
  );
  return new SignalboxError(code, message, {
    retryable,
    cause: error,
    details: { ...details, ...(wanted === 'cancelled' && { interrupted: true }) },
  });
}

function codeOf(outcome: FailedOutcome): ToolErrorCode {
  switch (outcome.status) {
    case 'cancelled':
      return 'cancelled';
    case 'timed_out':
      return 'tool_timeout';
    case 'undeliverable':
      return outcome.reason === 'expired' ? 'tool_timeout' : 'mcp_server_unreachable';
    case 'connection_lost':
      return outcome.error ? codeOfError(outcome.error) : 'mcp_server_unreachable';
    case 'not_sent':
    case 'rejected':
      return codeOfError(outcome.error);
  }
}

function codeOfError({ code, retryable }: SignalboxError): ToolErrorCode {
  return refusals[code] ?? (retryable ? 'mcp_server_unreachable' : 'internal');
}

const refusals: Readonly<Record<string, ToolErrorCode>> = {
  forbidden: 'permission_denied',
  unauthorized: 'permission_denied',
  forged_sender: 'permission_denied',
  quota_exceeded: 'quota_exceeded',
  rate_limited: 'quota_exceeded',
  inbox_full: 'quota_exceeded',
  storage_full: 'quota_exceeded',
  message_too_large: 'invalid_arguments',
  invalid_message: 'invalid_arguments',
  unknown_recipient: 'mcp_server_unreachable',
};

function nobodyServes({ code }: SignalboxError): boolean {
  return code === 'no_consumer' || code === 'unknown_recipient';
}

function noOrchestrator(error: SignalboxError, orchestrator: string): SignalboxError {
  return new SignalboxError(
    error.code,
    `no orchestrator named '${orchestrator}' is connected, so there are no tools`,
    {
      retryable: error.retryable,
      cause: error,
      details: { ...error.details, hint: 'start one with: signalbox orchestrator   (signalbox up runs one)' },
    },
  );
}
