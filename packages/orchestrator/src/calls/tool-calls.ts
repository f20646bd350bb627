import { handBack, type ServedRequest } from '@signalbox/client';
import type { McpHost, ToolProgress } from '@signalbox/mcp-host';
import {
  type CallRequest,
  fromWireRound,
  isInputRequired,
  type McpReply,
  mayRepeat,
  type ToolCallError,
  toolCallError,
  toProxiedResult,
} from '@signalbox/protocol';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { queueRefusal } from '../scheduling/queue-refusal.ts';
import { parseArguments } from './call-arguments.ts';
import { admit } from './tool-refusals.ts';

/** What running a call needs. `callTimeoutMs` bounds the run of a call that names no timeout of its own. */
export interface CallRunner {
  host: McpHost;
  scheduler: CallScheduler;
  catalog: () => Promise<Catalog>;
  budgets: BudgetLedger;
  callTimeoutMs: number;
}

/** Who must know how far a call has come. */
export interface CallWatch {
  /** Its turn has come, and it goes to the host now. */
  calling(server: string | undefined): void;
  /** Awaited right before a call leaves that is not safe to repeat; an error ends it unsent. */
  writeStart(server: string | undefined): Promise<ToolCallError | undefined>;
  /** It is on its way to the MCP server. */
  sent: (() => void) | undefined;
}

/**
 * Runs one call and returns its result or error. The allowlist decides when the call comes and again when it starts,
 * with the catalog of that moment; the budgets when it comes. Waiting for its turn counts against the caller's deadline
 * only. Handed back if the scheduler is closed first.
 */
export async function runCall(
  runner: CallRunner,
  request: ServedRequest,
  call: CallRequest,
  watch: CallWatch,
): Promise<McpReply | typeof handBack> {
  const { from, id, seq } = request.message;
  const { agent, role } = from;
  const early = admit(await runner.catalog(), role, call.tool);
  if (early.refusal) return { error: early.refusal };
  const delivery = seq === undefined ? undefined : `${agent} ${id} ${seq}`;
  const { takeBack, refusal } = runner.budgets.take({ agent, role, request: delivery });
  if (refusal) return { error: refusal };
  const parsed = parseArguments(call.arguments);
  if (parsed.problem !== undefined) {
    return { error: toolCallError('invalid_arguments', parsed.problem, { mayHaveRun: false }) };
  }
  const server = runner.host.route(call.tool).server ?? call.tool;
  const bytes = Buffer.byteLength(request.message.body ?? '');
  const turn = await runner.scheduler.run({ worker: agent, server, bytes }, request.signal, () =>
    callTool(runner, request, call, { args: parsed.arguments, watch }),
  );
  if (turn.status === 'ran') return turn.value;
  takeBack();
  switch (turn.status) {
    case 'handed_back':
      return handBack;
    case 'refused':
      return { error: queueRefusal(agent, turn) };
    case 'aborted':
      return { error: neverStarted(request) };
  }
}

/** Its turn has come: judges it by what holds now, and passes it to the host. */
async function callTool(
  runner: CallRunner,
  request: ServedRequest,
  call: CallRequest,
  { args, watch }: { args: Record<string, unknown>; watch: CallWatch },
): Promise<McpReply> {
  request.started();
  const { from } = request.message;
  const { tool, refusal } = admit(await runner.catalog(), from.role, call.tool);
  if (refusal) return { error: refusal };
  const timeoutMs = Math.min(
    call.options?.timeout_ms ?? runner.callTimeoutMs,
    request.remainingMs() ?? Number.POSITIVE_INFINITY,
  );
  if (timeoutMs <= 0) return { error: neverStarted(request) };
  const repeatable = mayRepeat(tool, true);
  const target = runner.host.route(call.tool).server;
  watch.calling(target);
  const outcome = await runner.host.call(call.tool, args, {
    signal: request.signal,
    timeoutMs,
    caller: from,
    repeatable,
    round: call.round && fromWireRound(call.round),
    beforeSend: repeatable ? undefined : () => watch.writeStart(target),
    onSent: watch.sent,
    onProgress: call.options?.progress ? (progress: ToolProgress) => request.progress(progress) : undefined,
  });
  return 'error' in outcome ? outcome : replyOf(outcome.result, call);
}

function replyOf(result: Record<string, unknown>, { tool, round }: CallRequest): McpReply {
  if (!isInputRequired(result)) return { result: toProxiedResult(result) };
  if (round) return { input_required: { ...result, resultType: 'input_required' } };
  const message = `'${tool}' asks its caller for input, which this caller cannot give`;
  return {
    error: toolCallError('internal', message, {
      mayHaveRun: true,
      hint: 'Call it from an MCP client that can be asked, through the MCP face of a worker.',
    }),
  };
}

function neverStarted(request: ServedRequest): ToolCallError {
  const remaining = request.remainingMs();
  return remaining !== undefined && remaining <= 0
    ? toolCallError('tool_timeout', 'the deadline of the call passed before it could start', {
        mayHaveRun: false,
      })
    : toolCallError('cancelled', 'the call was cancelled before it started', { mayHaveRun: false });
}
