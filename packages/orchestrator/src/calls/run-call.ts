import { handBack, type ServedRequest } from '@signalbox/client';
import type { McpHost, ToolRoute } from '@signalbox/mcp-host';
import type { ToolCallResult, ToolProgress } from '@signalbox/mcp-host/tool-calls';
import {
  forwardedMeta,
  frameDefaults,
  fromWireRound,
  mayRepeat,
  type Tool,
  type ToolCallError,
  toolCallError,
  withoutTokens,
} from '@signalbox/protocol';
import { type Fault, noFault } from '@signalbox/serving';
import type { ApprovalRecord } from '@signalbox/store/journal';
import type { Approvals } from '../approvals/approvals.ts';
import { mayAsk } from '../approvals/ask-rules.ts';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { CallSubject, HeldCalls } from '../holds/held-calls.ts';
import { stoppedByHold } from '../holds/hold-errors.ts';
import type { CallScheduler } from '../scheduling/call-scheduler.ts';
import { queueRefusal } from '../scheduling/queue-refusal.ts';
import { askedMeanwhile, clearCall, rulesOfCall } from './asked-call.ts';
import { type ReadArguments, readArguments } from './call-arguments.ts';
import type { IncomingCall } from './incoming-call.ts';
import { type LargeTurns, largeLength } from './large-turns.ts';
import { endedInLeap, type Moment } from './leapt-deadline.ts';
import { type OnHold, runUnlessHeld } from './run-unless-held.ts';
import { admit } from './tool-refusals.ts';

/** The dependencies of {@link runCall}. */
export interface RunCallDeps {
  host: McpHost;
  scheduler: CallScheduler;
  catalogs: Pick<CatalogTracker, 'latest' | 'current'>;
  budgets: BudgetLedger;
  /** Makes calls wait for decisions; `undefined` without a journal. */
  approvals: Approvals | undefined;
  /** Makes calls wait while a hold is on them. */
  holds: HeldCalls;
  /** Reads the arguments of large requests one after the other. */
  reading: LargeTurns;
  /** The longest run of a call that sets no timeout of its own, in milliseconds. */
  callTimeoutMs: number;
  /** Returns the name of the broker and the inbox through which requests come. */
  inbox: () => string;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
}

/**
 * Runs one call in these steps: allowlist, wait for the release if a hold is on it, reading of the arguments as the server gets them,
 * decision of a person if a rule demands one, budget, queue, allowlist, hold and approval again with the catalog of that moment, host. The
 * host continues with the cache; see `ServerCalls` of mcp-host. The wait in the queue and for a release counts only against the caller's
 * deadline. Resolves with `handBack` if the scheduler is closed before the call starts.
 */
export function runCall(deps: RunCallDeps, call: IncomingCall): Promise<ToolCallResult | typeof handBack> {
  const arrived = momentOf(deps, call.request);
  return runUnlessHeld(deps.holds, call, () => tryCall(deps, call, arrived));
}

/** Runs a call, unless a hold is on it. */
async function tryCall(
  deps: RunCallDeps,
  call: IncomingCall,
  arrived: Moment,
): Promise<ToolCallResult | typeof handBack | OnHold> {
  const { request, body, place, tracked } = call;
  const { from, id, seq } = request.message;
  const { agent, role } = from;
  const catalog = deps.catalogs.latest ?? (await deps.catalogs.current());
  const { approvals } = deps;
  const state = body.round?.request_state;
  const runs = () => state !== undefined && deps.host.waitsFor(state, agent);
  const admission = admit(catalog, role, body.tool, { runs: runs() });
  const route = deps.host.route(body.tool);
  // A call that waited for a decision, or has one, goes there first: its hold is checked when it starts.
  const asked = approvals && (await approvals.of({ agent, requestId: id }));
  if (admission.tool && !asked) {
    const subject = subjectOf(call, catalog);
    if (deps.holds.on(subject)) return { onHold: subject };
  }
  let approval: ApprovalRecord | undefined;
  const asks =
    approvals !== undefined && (asked !== undefined || mayWait(call, { catalog, tool: admission.tool }));
  const isWithheld = catalog.inventory.changed.has(body.tool);
  // An answer to a server continues only the call that was approved, or that began before its definition was withheld.
  const goesOn = (asks || isWithheld) && runs();
  // A call that waited before is compared with what was asked about, also while its server is away.
  const isAskedAgain = asked !== undefined && !goesOn;
  if (admission.refusal && (!isAskedAgain || admission.refusal.code === 'permission_denied'))
    return { error: admission.refusal };

  // A call that waited before has given up its room.
  const takesRoom = !isAskedAgain && typeof body.arguments === 'string';
  const full = takesRoom ? place.take(body.arguments as string) : undefined;
  if (full) return { error: full };
  const delivery = seq === undefined ? undefined : `${agent} ${id} ${seq}`;
  // A running call continues as it began, and one that waited before is told what became of it.
  const how = { asWritten: isAskedAgain || runs() };
  const isLarge = (request.message.body?.length ?? 0) > largeLength;
  const read = isLarge
    ? await readInTurn(deps, route, body.arguments, how)
    : readArguments(deps.host, route, body.arguments, how);
  if (read.error) {
    const { refusal } = deps.budgets.take({ agent, role, request: delivery });
    return { error: refusal ?? read.error };
  }
  // A text that became a list may hold far more values than the request that was counted.
  const grown = read.isRewritten && !isAskedAgain ? place.take(JSON.stringify(read.args)) : undefined;
  if (grown) return { error: grown };
  if (approvals && asks && !goesOn) {
    const judge = () => overBudget(deps.budgets, { agent, role });
    const facts = { ...read, catalog, tool: admission.tool, server: route.server, asked };
    const clearance = await clearCall(approvals, call, facts, judge);
    if (clearance.ended !== undefined) return clearance.ended;
    approval = clearance.approval;
  }
  // It waits for its server as long as its caller does: a person has decided on it, and would have to do so again.
  if (approval && !route.target)
    await deps.host.listed(route, {
      timeoutMs: request.remainingMs() ?? frameDefaults.ttlMs,
      signal: request.cancellation,
    });

  const { takeBack, refusal } = deps.budgets.take({ agent, role, request: delivery });
  if (refusal) return { error: refusal };

  const queued = { worker: agent, server: route.server ?? body.tool };
  const begin = async (): Promise<ToolCallResult | OnHold> => {
    const now = deps.catalogs.latest ?? (await deps.catalogs.current());
    const isSame = now === catalog && approval === undefined && admission.tool !== undefined;
    const { tool, refusal } = isSame ? admission : admit(now, role, body.tool, { runs: runs() });
    if (refusal) return { error: refusal };
    const subject = subjectOf(call, now);
    if (deps.holds.on(subject)) return { onHold: subject };
    request.started();
    const target = isSame ? route : deps.host.route(body.tool);
    const isChecked = read.fits !== undefined && read.fits === target.target?.tool;
    const present =
      isSame || isChecked ? read : readArguments(deps.host, target, body.arguments, { asWritten: runs() });
    if (present.error) return { error: present.error };
    const barring =
      isSame || goesOn
        ? undefined
        : barredMeanwhile(deps, call, { ...present, catalog: now, tool, approval });
    if (barring) return { error: barring };
    if (endedInLeap(arrived, momentOf(deps, request))) return { error: endedWhileWaiting() };
    const running = deps.holds.runs(request, subject);
    try {
      const ready = { route: target, tool, ...present, approval, goesOn, subject };
      return withHold(deps, request, await callHost(deps, call, ready));
    } finally {
      deps.holds.ended(running);
    }
  };
  const turn = await deps.scheduler.run(queued, request.cancellation, begin, (position) =>
    tracked.waits(position),
  );
  if (turn.status === 'ran') {
    if ('onHold' in turn.value) takeBack();
    return turn.value;
  }
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

function subjectOf({ request, body }: IncomingCall, { inventory }: Catalog): CallSubject {
  const { agent, role } = request.message.from;
  return { agent, role, tool: body.tool, origin: inventory.origins.get(body.tool) };
}

/** Returns the end of a call, with the words of the hold if one cancelled it. */
function withHold({ holds }: RunCallDeps, request: ServedRequest, ended: ToolCallResult): ToolCallResult {
  if (!('error' in ended) || ended.error.code !== 'cancelled') return ended;
  const hold = holds.stoppedBy(request);
  return hold ? { error: stoppedByHold(hold, ended.error.may_have_run) } : ended;
}

/** Tells whether a rule may make the call wait for a decision. For nearly all calls this is a look-up. */
function mayWait(
  { request, body }: IncomingCall,
  { catalog, tool }: { catalog: Catalog; tool: Tool | undefined },
): boolean {
  if (tool === undefined) return false;
  const origin = catalog.inventory.origins.get(body.tool);
  return mayAsk(catalog.approvals, request.message.from.role, { tool, origin });
}

function overBudget(budgets: BudgetLedger, who: { agent: string; role: string }): ToolCallError | undefined {
  const { takeBack, refusal } = budgets.take(who);
  takeBack?.();
  return refusal;
}

/** Returns the reason why a call may not start although it was admitted: rules or tools have changed while it waited. */
function barredMeanwhile(
  { approvals }: RunCallDeps,
  { request, body }: IncomingCall,
  read: ReadArguments & { catalog: Catalog; tool: Tool; approval: ApprovalRecord | undefined },
): ToolCallError | undefined {
  if (read.approval) {
    const shown = approvals?.shown(read.args, body.round);
    return approvals?.refusalToStart(read.approval, shown && 'hash' in shown ? shown.hash : '');
  }
  const rule = rulesOfCall(read, request.message.from.role)?.asks;
  return rule === undefined ? undefined : askedMeanwhile(body.tool, rule);
}

/** Reads the arguments of a large request. They are read one after the other, so that they hold up no others for long. */
async function readInTurn(
  { host, reading }: RunCallDeps,
  ...asked: [route: ToolRoute, value: unknown, how: { asWritten: boolean }]
): Promise<ReturnType<typeof readArguments>> {
  const endTurn = await reading.next();
  try {
    return readArguments(host, ...asked);
  } finally {
    endTurn();
  }
}

/** Passes a call whose turn has come to the host. An approved call is made once, regardless of its tool's declarations. */
async function callHost(
  deps: RunCallDeps,
  call: IncomingCall,
  {
    route,
    tool,
    args,
    fits,
    approval,
    goesOn,
    subject,
  }: ReadArguments & {
    route: ToolRoute;
    tool: Tool;
    approval: ApprovalRecord | undefined;
    /** True if it only continues a running call: no other call may be made. */
    goesOn: boolean;
    subject: CallSubject;
  },
): Promise<ToolCallResult> {
  const { request, body, tracked } = call;
  const timeoutMs = Math.min(
    body.options?.timeout_ms ?? deps.callTimeoutMs,
    request.remainingMs() ?? Number.POSITIVE_INFINITY,
  );
  if (timeoutMs <= 0) return { error: neverStarted(request) };
  const repeatable = approval === undefined && !goesOn && mayRepeat(tool, true);
  const { server } = route;
  if (approval) deps.approvals?.started(approval);
  tracked.running(server);
  return deps.host.call(route, args, {
    fits,
    signal: request.cancellation,
    timeoutMs,
    patienceMs: request.remainingMs(),
    caller: request.message.from,
    repeatable,
    round: body.round && fromWireRound(body.round),
    traceparent: request.traceparent,
    meta: forwardedMeta(body.meta),
    // The server may have restarted meanwhile, with another definition of the tool.
    beforeSend: repeatable
      ? undefined
      : async () =>
          (approval && deps.approvals?.refusalToStart(approval)) ?? (await writeStart(deps, call, server)),
    onAsked: (asking) => {
      const running = deps.holds.runs(asking, subject);
      asking.over.then(() => deps.holds.ended(running));
    },
    onSent: deps.fault === noFault ? undefined : () => deps.fault('orchestrator.call.sent'),
    onProgress: body.options?.progress
      ? (progress: ToolProgress) => {
          const { progress: done, total } = progress;
          tracked.progress = { progress: done, ...(total !== undefined && { total }) };
          request.progress(withoutTokensIn(progress));
        }
      : undefined,
  });
}

function withoutTokensIn(progress: ToolProgress): ToolProgress {
  const { message, _meta } = progress;
  if (message === undefined && _meta === undefined) return progress;
  return {
    ...progress,
    ...(message !== undefined && { message: withoutTokens(message) }),
    ...(_meta && { _meta: JSON.parse(withoutTokens(JSON.stringify(_meta))) }),
  };
}

/** Writes the start of a call that is not safe to repeat to the journal. Resolves with an error if that fails. */
async function writeStart(
  { now, inbox, fault }: RunCallDeps,
  { request, body, tracked, journaled }: IncomingCall,
  server: string | undefined,
): Promise<ToolCallError | undefined> {
  if (!journaled) return undefined;
  const { thread } = tracked.name;
  const refusal = await journaled.start({
    role: request.message.from.role,
    tool: body.tool,
    ...(thread !== undefined && { thread }),
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
