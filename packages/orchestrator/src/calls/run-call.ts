import { handBack, type ServedRequest } from '@signalbox/client';
import type { McpHost, ToolRoute } from '@signalbox/mcp-host';
import {
  type CallRequest,
  type Fault,
  forwardedMeta,
  frameDefaults,
  fromWireRound,
  mayRepeat,
  noFault,
  type Tool,
  type ToolCallError,
  toolCallError,
  withoutTokens,
} from '@signalbox/protocol';
import type { ToolCallResult, ToolProgress } from '@signalbox/tool-calls';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { JournaledCall } from '../journal/journaled-call.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { queueRefusal } from '../scheduling/queue-refusal.ts';
import { parseArguments } from './call-arguments.ts';
import { endedInLeap, type Moment } from './leapt-deadline.ts';
import type { RequestPlace } from './request-room.ts';
import { admit } from './tool-refusals.ts';
import type { TrackedCall } from './tracked-call.ts';

/** The dependencies of {@link runCall}. */
export interface RunCallDeps {
  host: McpHost;
  scheduler: CallScheduler;
  catalog: () => Promise<Catalog>;
  budgets: BudgetLedger;
  /** Bounds the run of a call that names no timeout of its own. */
  callTimeoutMs: number;
  /** Names the broker and the inbox through which requests come. */
  inbox: () => string;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
}

/** A call that has arrived: its request, its state here, and its journal entry. */
export interface IncomingCall {
  request: ServedRequest;
  body: CallRequest;
  place: RequestPlace;
  tracked: TrackedCall;
  /** The call in the journal; `undefined` without a journal. */
  journaled: JournaledCall | undefined;
}

/**
 * Runs one call in these steps: allowlist, budget, reading of the arguments, queue, allowlist again with the catalog of
 * that moment, host. The host goes on with the check against the tool's schema; see `ServerCalls` of mcp-host. The wait
 * in the queue counts against the caller's deadline only. Resolves with `handBack` if the scheduler is closed before
 * the call starts.
 */
export async function runCall(
  deps: RunCallDeps,
  call: IncomingCall,
): Promise<ToolCallResult | typeof handBack> {
  const { request, body, place } = call;
  const { from, id, seq } = request.message;
  const arrived = momentOf(deps, request);
  const { agent, role } = from;
  const catalog = await deps.catalog();
  const admission = admit(catalog, role, body.tool);
  if (admission.refusal) return { error: admission.refusal };

  const delivery = seq === undefined ? undefined : `${agent} ${id} ${seq}`;
  const { takeBack, refusal } = deps.budgets.take({ agent, role, request: delivery });
  if (refusal) return { error: refusal };

  const full = typeof body.arguments === 'string' ? place.take(body.arguments) : undefined;
  if (full) {
    takeBack();
    return { error: full };
  }
  const { arguments: args, problem } = parseArguments(body.arguments);
  if (problem !== undefined) {
    return { error: toolCallError('invalid_arguments', problem, { mayHaveRun: false }) };
  }

  const route = deps.host.route(body.tool);
  const queued = { worker: agent, server: route.server ?? body.tool };
  const turn = await deps.scheduler.run(queued, request.signal, async () => {
    request.started();
    const now = await deps.catalog();
    const { tool, refusal } = now === catalog ? admission : admit(now, role, body.tool);
    if (refusal) return { error: refusal };
    if (endedInLeap(arrived, momentOf(deps, request))) return { error: endedWhileWaiting() };
    return callHost(deps, call, { route, tool, args });
  });
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

/** Passes a call whose turn has come to the host. */
async function callHost(
  deps: RunCallDeps,
  call: IncomingCall,
  { route, tool, args }: { route: ToolRoute; tool: Tool; args: Record<string, unknown> },
): Promise<ToolCallResult> {
  const { request, body, tracked } = call;
  const timeoutMs = Math.min(
    body.options?.timeout_ms ?? deps.callTimeoutMs,
    request.remainingMs() ?? Number.POSITIVE_INFINITY,
  );
  if (timeoutMs <= 0) return { error: neverStarted(request) };
  const repeatable = mayRepeat(tool, true);
  const { server } = route;
  tracked.running(server);
  return deps.host.call(route, args, {
    signal: request.signal,
    timeoutMs,
    caller: request.message.from,
    repeatable,
    round: body.round && fromWireRound(body.round),
    traceparent: request.traceparent,
    meta: forwardedMeta(body.meta),
    beforeSend: repeatable ? undefined : () => writeStart(deps, call, server),
    onSent: deps.fault === noFault ? undefined : () => deps.fault('orchestrator.call.sent'),
    onProgress: body.options?.progress
      ? (progress: ToolProgress) => request.progress(withoutTokensIn(progress))
      : undefined,
  });
}

function withoutTokensIn(progress: ToolProgress): ToolProgress {
  const { message } = progress;
  return message === undefined ? progress : { ...progress, message: withoutTokens(message) };
}

/** Writes the start of a call that is not safe to repeat to the journal. Resolves with an error if that fails. */
async function writeStart(
  { now, inbox, fault }: RunCallDeps,
  { request, body, tracked, journaled }: IncomingCall,
  server: string | undefined,
): Promise<ToolCallError | undefined> {
  if (!journaled) return undefined;
  const refusal = await journaled.start({
    role: request.message.from.role,
    tool: body.tool,
    ...(server !== undefined && { server }),
    receivedAt: tracked.receivedAt,
    startedAt: now(),
    inbox: inbox(),
    lifetimeMs: request.remainingMs() ?? frameDefaults.ttlMs,
  });
  if (!refusal) fault('orchestrator.journal.started');
  return refusal;
}

function momentOf({ now }: RunCallDeps, request: ServedRequest): Moment {
  return { wall: now(), remainingMs: request.remainingMs() };
}

function endedWhileWaiting(): ToolCallError {
  const message =
    'the deadline of the call passed while the clock leapt or the machine slept, before it could start';
  return toolCallError('tool_timeout', message, { mayHaveRun: false, retryable: true });
}

function neverStarted(request: ServedRequest): ToolCallError {
  const remaining = request.remainingMs();
  return remaining !== undefined && remaining <= 0
    ? toolCallError('tool_timeout', 'the deadline of the call passed before it could start', {
        mayHaveRun: false,
      })
    : toolCallError('cancelled', 'the call was cancelled before it started', { mayHaveRun: false });
}
