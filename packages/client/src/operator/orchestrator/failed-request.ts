import { toolErrorCodeOf } from '@signalbox/client/internal';
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
      return outcome.error ? toolErrorCodeOf(outcome.error) : 'mcp_server_unreachable';
    case 'not_sent':
    case 'rejected':
      return toolErrorCodeOf(outcome.error);
  }
}

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
