import type { RequestOutcome } from '@signalbox/client';
import type { RemoteRequest, ServerAnswer, ToolRequest } from '@signalbox/mcp-host';
import {
  isInputRequired,
  isJsonObject,
  type McpRequest,
  mcpReplySchema,
  type ToolErrorCode,
  toolCallError,
  toWireRound,
} from '@signalbox/protocol';

/** Makes the state of a round one of a host, so that it is not taken for a call that runs here. */
const statePrefix = 'host:';

/** The codes of decisions that are made here before a call leaves. A host has no part in them. */
const decidedHere: ReadonlySet<ToolErrorCode> = new Set([
  'approval_denied',
  'approval_expired',
  'approval_superseded',
  'held',
  'no_turn',
]);

/** Makes the body of a request to a server of an orchestrator with a label. */
export function hostedBody(
  { server, args, tool, method }: RemoteRequest & { server: string },
  { timeoutMs, onProgress, logLevel, agent, role, repeatable, round, meta }: ToolRequest,
): McpRequest {
  const { traceparent: _traceparent, ...rest } = meta ?? {};
  const { requestState: state, ...given } = round ?? {};
  const common = {
    hosted: {
      server,
      ...(agent !== undefined && role !== undefined && { caller: { agent, role } }),
      ...(repeatable === false && { once: true as const }),
    },
    ...(round && {
      round: toWireRound({
        ...given,
        ...(state !== undefined && {
          requestState: state.startsWith(statePrefix) ? state.slice(statePrefix.length) : state,
        }),
      }),
    }),
    ...(Object.keys(rest).length > 0 && { meta: rest }),
  };
  if (method) return { op: 'request', method, params: args, ...common };
  return {
    op: 'call',
    tool,
    arguments: args,
    options: {
      ...(Number.isFinite(timeoutMs) && { timeout_ms: Math.max(1, Math.floor(timeoutMs)) }),
      ...(onProgress && { progress: true }),
      ...(logLevel && { log_level: logLevel }),
    },
    ...common,
  };
}

/** Turns the outcome of such a request into the server's answer, or the reason why there is none. `away` says so if the host is away. */
export function answerOfOutcome(
  outcome: RequestOutcome,
  { server, host, away }: { server: string; host: string; away: string },
): ServerAnswer {
  switch (outcome.status) {
    case 'completed':
      return answerOf(outcome.reply.json, host);
    case 'not_sent':
    case 'rejected':
      return { failure: { kind: 'not_sent', reason: `host '${host}': ${outcome.error.message}` } };
    case 'cancelled':
      return { failure: { kind: 'timed_out', reason: 'the call was cancelled' } };
    case 'timed_out':
    case 'undeliverable': {
      const why = 'reason' in outcome ? outcome.reason : 'expired';
      const isExpired = why === 'expired';
      if (outcome.mayHaveRun && isExpired)
        return { failure: { kind: 'timed_out', reason: `host '${host}' gave no result in time${away}` } };
      if (outcome.mayHaveRun)
        return { failure: { kind: 'lost', reason: `host '${host}' gave the call up (${why})${away}` } };
      const message = `server '${server}' was not called: host '${host}' did not take the call in time${away}`;
      const code = away === '' ? 'tool_timeout' : 'mcp_server_unreachable';
      return {
        failure: {
          kind: 'told',
          reason: message,
          error: toolCallError(code, message, { mayHaveRun: false }),
        },
      };
    }
    case 'connection_lost': {
      const reason = `the connection to the broker was lost${outcome.error ? `: ${outcome.error.message}` : ''}`;
      return { failure: { kind: outcome.mayHaveRun ? 'lost' : 'not_sent', reason } };
    }
  }
}

function answerOf(json: unknown, host: string): ServerAnswer {
  const parsed = mcpReplySchema.safeParse(json);
  if (parsed.success && 'error' in parsed.data) {
    const { error } = parsed.data;
    if (decidedHere.has(error.code)) {
      const reason = `host '${host}' answered ${error.code}, which only this orchestrator decides`;
      return { failure: { kind: 'bad_answer', reason } };
    }
    return {
      failure: {
        kind: 'told',
        reason: error.message,
        error: { ...error, message: `host '${host}': ${error.message}` },
      },
    };
  }
  // Results are passed on as they came, with fields that the schema does not know.
  const { result, data, input_required: asked } = (isJsonObject(json) ? json : {}) as Record<string, unknown>;
  const found = [result, data, asked].find((one) => isJsonObject(one)) as Record<string, unknown> | undefined;
  if (!found) {
    return {
      failure: { kind: 'bad_answer', reason: `the reply of host '${host}' is neither a result nor an error` },
    };
  }
  const { requestState: state } = found;
  if (!isInputRequired(found) || typeof state !== 'string') return { result: found };
  return { result: { ...found, requestState: `${statePrefix}${state}` } };
}
