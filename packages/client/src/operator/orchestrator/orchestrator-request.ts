import type { BrokerClient, RequestOptions } from '@signalbox/client';
import { toolErrorCodeOf } from '@signalbox/client/internal';
import {
  acceptDefinitionsReplySchema,
  approvalsReplySchema,
  backupReplySchema,
  callStatusSchema,
  callsReplySchema,
  cancelCallReplySchema,
  decideReplySchema,
  definitionsReplySchema,
  discoveryReplySchema,
  explanationSchema,
  type McpReply,
  type McpRequest,
  matrixReplySchema,
  mcpContentExplanationSchema,
  mcpReplySchema,
  revokeStandingReplySchema,
  SignalboxError,
  samplesReplySchema,
  searchReplySchema,
  serverReplySchema,
  serversReplySchema,
  standingApprovalsReplySchema,
  type ToolErrorCode,
  toolCallError,
} from '@signalbox/protocol';
import type { z } from 'zod';
import { type FailedOutcome, outcomeError } from './failed-outcome.ts';

/** The schema of the `data` that answers each operation. */
const answerSchemas = {
  status: callStatusSchema,
  cancel_call: cancelCallReplySchema,
  search: searchReplySchema,
  calls: callsReplySchema,
  own_calls: callsReplySchema,
  servers: serversReplySchema,
  reload: serverReplySchema,
  stop: serverReplySchema,
  start: serverReplySchema,
  discover: discoveryReplySchema,
  explain: explanationSchema,
  matrix: matrixReplySchema,
  samples: samplesReplySchema(),
  explain_mcp_content: mcpContentExplanationSchema,
  backup: backupReplySchema,
  approvals: approvalsReplySchema,
  standing_approvals: standingApprovalsReplySchema,
  decide: decideReplySchema,
  revoke_standing: revokeStandingReplySchema,
  definitions: definitionsReplySchema,
  accept_definitions: acceptDefinitionsReplySchema,
};

/** A request that the orchestrator answers with data: every operation but `call` and `manifest`. */
export type OrchestratorQuery = Extract<McpRequest, { op: keyof typeof answerSchemas }>;

/** The answer to an operation of the orchestrator. */
export type OrchestratorAnswer<Op extends OrchestratorQuery['op']> = z.infer<(typeof answerSchemas)[Op]>;

const defaultTimeoutMs = 10_000;

/**
 * Asks an orchestrator and reads its answer; neither is stored. Waits 10 s unless `timeoutMs` is given. Rejects with the
 * orchestrator's own error, as in `permission_denied` for an operation that only the role `operator` may ask for.
 */
export async function queryOrchestrator<Query extends OrchestratorQuery>(
  client: BrokerClient,
  orchestrator: string,
  query: Query,
  { timeoutMs = defaultTimeoutMs, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<OrchestratorAnswer<Query['op']>> {
  const reply = await sendOrchestratorRequest(client, orchestrator, query, {
    timeoutMs,
    ...(signal && { signal }),
    ephemeral: true,
  });
  if (!('data' in reply)) throw replyError(reply);
  const schema: z.ZodType = answerSchemas[query.op];
  const parsed = schema.safeParse(reply.data);
  if (!parsed.success) throw unexpectedReply();
  return parsed.data as OrchestratorAnswer<Query['op']>;
}

/**
 * Sends a request to an orchestrator and reads its reply, which may be an error of the orchestrator. Rejects if none came;
 * for a call, with every field of a `ToolCallError`.
 */
export async function sendOrchestratorRequest(
  client: BrokerClient,
  orchestrator: string,
  request: McpRequest,
  options: RequestOptions,
): Promise<McpReply> {
  const outcome = await client.request(orchestrator, 'mcp_request', request, options);
  if (outcome.status !== 'completed') throw failedRequest(outcome, request, orchestrator);
  const parsed = mcpReplySchema.safeParse(outcome.reply.json);
  if (!parsed.success) throw unexpectedReply();
  // The reply is passed on unchanged: the schema would drop fields of a result that it does not know.
  return 'error' in parsed.data ? parsed.data : (outcome.reply.json as McpReply);
}

/** Turns a reply that does not answer the request into an error, with every field of the orchestrator's own. */
export function replyError(reply: McpReply): SignalboxError {
  if (!('error' in reply)) return unexpectedReply();
  const { code, message, retryable, ...details } = reply.error;
  return new SignalboxError(code, message, { retryable, details });
}

function unexpectedReply(): SignalboxError {
  return new SignalboxError(
    'bad_body',
    'the orchestrator answered another question than the one that was asked',
    {
      details: { hint: 'broker, orchestrator and this command may be of different versions' },
    },
  );
}

/** Turns a request to the orchestrator without a reply into an error. For a call it has every field of a `ToolCallError`. */
function failedRequest(outcome: FailedOutcome, request: McpRequest, orchestrator: string): SignalboxError {
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

/** Says what to do while no orchestrator is connected. */
export const orchestratorHint =
  'signalbox up starts a dead one again in a moment; without up, start one with: signalbox orchestrator';

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
      details: { ...error.details, hint: orchestratorHint },
    },
  );
}
