import { handBack, type Log, type ReplyEnd, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  type CallRecord,
  type CancelSignal,
  frameDefaults,
  type McpReply,
  messageOf,
  SignalboxError,
  type ToolCallError,
} from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';
import type { Journal, JournalEntry } from '@signalbox/store/journal';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { callEvent } from '../audit/call-events.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { InboxOwnership } from '../journal/inbox-ownership.ts';
import { type EndedCall, JournaledCall, notWritten } from '../journal/journaled-call.ts';
import type { CallMeter } from '../metrics/call-meter.ts';
import { keepLarge, keptText, type ShownReply, withReason } from '../results/keep-large.ts';
import { resultRuleOf } from '../results/result-rules.ts';
import type { ResultStore } from '../results/result-store.ts';
import { replyToKeep, sentReply } from '../tasks/task-call.ts';
import { boundedReply } from './bounded-reply.ts';
import { type CallKind, hostedToolCalls } from './call-kind.ts';
import { calledOffError, outcomeOf, outcomeUnknown, replyOf } from './call-outcome.ts';
import type { CallRegistry } from './call-registry.ts';
import type { IncomingCall } from './incoming-call.ts';
import { type LargeTurns, largeLength } from './large-turns.ts';
import type { RunCallDeps } from './run-call.ts';
import { panicError, refusalOfReply } from './tool-refusals.ts';
import type { TrackedCall } from './tracked-call.ts';

/** The dependencies of {@link serveCall}. */
export interface CallDeps extends RunCallDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
  /** Keeps large results; `undefined` if none are kept. */
  results: ResultStore | undefined;
  /** Returns the minting token that issued the token of an agent. Never rejects. */
  minterOf: (agent: string) => Promise<string | undefined>;
  ownership: InboxOwnership;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
  /** The turns of large replies: one is sent when the one before it is stored. */
  replies: LargeTurns;
  /** Counts the ended calls. */
  meter: Pick<CallMeter, 'ended'>;
  /** Reports how calls end to the audit log. */
  audit: Pick<AuditTrail, 'record'>;
  /** Monotonic milliseconds. */
  monotonic: () => number;
  log: Log;
}

/** The time after which the requester of a call, including its wait, may have lost patience, in milliseconds. */
const lateMs = 10_000;

/**
 * Answers a call. A call that has ended already gets the same reply again. A call that another process may have started and that may not
 * run again gets the error `outcome_unknown`. Any other call runs. Rejects only if the journal cannot be read, because then it is unknown
 * which of these applies.
 */
export async function serveCall(
  deps: CallDeps,
  { request, body, place }: Pick<IncomingCall, 'request' | 'body' | 'place'>,
  kind: CallKind = hostedToolCalls,
): Promise<ServeAnswer> {
  const { id, from, seq, thread } = request.message;
  const { fault, monotonic, journal } = deps;
  const receivedAt = monotonic();
  const name = { agent: from.agent, requestId: id, role: from.role, tool: body.tool, thread };
  fault('orchestrator.call.received');
  const journaled = journal && new JournaledCall(journal, name, await journal.find(name));
  const isForeign = deps.ownership.mayHaveStartedElsewhere(seq);
  const end = journaled?.earlier?.end;
  if (end?.reply !== undefined) {
    const refusal = await refusedReply(deps, from.role, journaled?.earlier);
    const settle = refusal ? undefined : (how: ReplyEnd) => journaled?.settle(how, () => undefined);
    return answer(fault, refusal ?? sentReply(end.reply), undefined, settle);
  }
  // The journal deletes a delivered reply. Then only the ack is missing, unless the reply was delivered to a store of which this one is an
  // older copy.
  if (end && !isForeign) return undefined;

  // The result was kept before its reply was sent, so the call has ended.
  const kept = deps.results && (await deps.results.previewOf(name));
  const isKept = kept?.call.tool === body.tool;
  const hidden = isKept ? await refusedReply(deps, from.role, kept.call) : undefined;
  if (hidden) return answer(fault, hidden, undefined, undefined);

  const wasStarted = journaled?.earlier?.wasStarted ?? false;
  const mayHaveStarted = wasStarted || isForeign;
  const asked = mayHaveStarted ? await deps.approvals?.of(name) : undefined;
  const lost = {
    tool: body.tool,
    wasAsked: asked !== undefined,
    isStarted: wasStarted,
  };
  const isUnknown = !isKept && mayHaveStarted && !(await kind.mayRunAgain(deps, lost));
  const tracked = deps.registry.add(name, journaled?.earlier, {
    bytes: Buffer.byteLength(request.message.body ?? ''),
    stop: () => request.stop(),
    keep: journaled && (() => journaled.keep(callOf(deps, tracked.toRecord(), request))),
  });
  if (kind.taskRound?.waiting) tracked.keepsAnswers = true;
  const unwritten = kind.taskRound && (await tracked.becomeTask().then(noError, notWritten));
  // Its error ends the task.
  if (unwritten) tracked.isTask = true;
  // Its task may have been cancelled after the journal was read.
  const isReadAgain = kind.taskRound !== undefined || journaled?.earlier !== undefined;
  const since = isReadAgain ? (await journal?.find(name))?.end?.reply : undefined;
  if (since !== undefined) {
    tracked.dropped();
    return answer(fault, sentReply(since), undefined, (how) => journaled?.settle(how, () => undefined));
  }
  if (asked) tracked.cleared(asked.id);
  const lostOrRefused = isUnknown ? outcomeUnknown(id) : unwritten;
  const known = isKept ? { result: kept.preview } : lostOrRefused && { error: lostOrRefused };
  let result: ToolCallResult | typeof handBack;
  try {
    result = known ?? (await kind.run(deps, { request, body, place, tracked, journaled }));
  } catch (thrown) {
    result = { error: panicked(deps, tracked, thrown) };
  }
  if (result === handBack) {
    tracked.dropped();
    return handBack;
  }
  fault('orchestrator.call.returned');
  const outcomeOfRun = withOperator(tracked, result);
  const wasAsked = tracked.approval !== undefined;
  const ended = wasAsked ? await withApprovalOf(deps, tracked, outcomeOfRun) : outcomeOfRun;
  const whole = replyOf(ended, body);
  const catalog = deps.catalogs.latest ?? (await deps.catalogs.current());
  const resultRule = resultRuleOf(catalog.results, from.role);
  const shown: ShownReply =
    resultRule && 'result' in whole ? await keepLarge(deps, name, resultRule, whole) : { reply: whole };
  const bounded = boundedReply(shown.reply, deps.maxReplyBytes());
  const reply = withReason(bounded.reply, shown.notKept);
  const sent = reply === bounded.reply ? bounded.text : JSON.stringify(reply);
  const text = tracked.isTask ? replyToKeep(reply, sent, body, kind.taskRound) : sent;
  const outcome = outcomeOf(reply);
  tracked.ended(outcome, text);
  const record = tracked.toRecord();
  deps.meter.ended(record);
  const isForbidden = outcome === 'permission_denied' && tracked.state === 'queued';
  const forbiddenBy = isForbidden ? ruleOf(catalog, from.role, body.tool) : undefined;
  deps.audit.record(callEvent(record, { rule: forbiddenBy, detail: keptText(shown) }));
  // The requester of a call that an operator cancelled is told so.
  const isGivenUp = request.cancellation.aborted && tracked.calledOff === undefined;
  const isLate = !isGivenUp && (tracked.isTask || wasAsked || monotonic() - receivedAt >= lateMs);
  const endWith = (replyText: string): EndedCall => ({
    call: callOf(deps, record, request),
    end: { outcome, finishedAt: deps.now(), reply: replyText, isLate },
  });
  if (journaled?.hasToFinish(isLate) && !wasInterrupted(request.cancellation, result)) {
    try {
      await journaled.finish(endWith(text));
      fault('orchestrator.journal.finished');
    } catch (thrown) {
      // The requester can still be told now; only after a crash would the outcome be unknown.
      deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
    }
  }
  if (wasAsked) {
    if (!wasInterrupted(request.cancellation, result)) void deps.approvals?.ended(name);
    void deps.approvals?.answered(name, reply);
  }
  const endTurn = sent.length > largeLength ? await deps.replies.next() : undefined;
  return answer(fault, reply, sent, (how) => {
    endTurn?.();
    if (wasAsked) void deps.approvals?.delivered(name, how);
    // Nobody waits for the reply if the requester cancelled the call, or its deadline has passed.
    journaled?.settle(how, () => (isGivenUp ? undefined : endWith(text)));
  });
}

function noError(): undefined {}

/** Refuses the reply in the journal, or the kept result, to a role that may not see it. Both stay there. */
async function refusedReply(
  { catalogs }: CallDeps,
  role: string,
  earlier: Pick<JournalEntry, 'role' | 'tool'> | undefined,
): Promise<McpReply | undefined> {
  const refusal = earlier && refusalOfReply(await catalogs.current(), role, earlier);
  return refusal && { error: { ...refusal, may_have_run: true } };
}

function ruleOf({ allowlist, inventory }: Catalog, role: string, tool: string): string {
  return allowlist.explain(role, tool, inventory.origins.get(tool)).rule;
}

/** Returns the error for a call that failed because of a fault of the orchestrator itself. */
function panicked({ log }: CallDeps, { name, state }: TrackedCall, thrown: unknown): ToolCallError {
  log({ event: 'request_panicked', id: name.requestId, reason: messageOf(thrown) });
  return panicError({ mayHaveRun: state === 'running' });
}

/** `text` is the JSON text of the reply, if it is there. */
function answer(
  fault: Fault,
  reply: McpReply,
  text: string | undefined,
  settle: ((how: ReplyEnd) => void) | undefined,
): ServeAnswer {
  fault('orchestrator.reply.before');
  return {
    kind: 'mcp_reply',
    body: reply,
    text,
    errorCode: 'error' in reply ? reply.error.code : undefined,
    settled: (how) => {
      fault('orchestrator.reply.after');
      settle?.(how);
    },
  };
}

/** Returns the end of a call, with the words of the operator if one cancelled it. */
function withOperator({ calledOff, name }: TrackedCall, result: ToolCallResult): ToolCallResult {
  if (!calledOff || !('error' in result) || result.error.code !== 'cancelled') return result;
  return { error: calledOffError(name.tool, calledOff, result.error.may_have_run) };
}

/** Returns the end of a call. If it was approved and not sent, its error says what became of the approval. */
async function withApprovalOf(
  { approvals }: CallDeps,
  { name }: TrackedCall,
  ended: ToolCallResult,
): Promise<ToolCallResult> {
  if (!approvals || !('error' in ended) || ended.error.may_have_run) return ended;
  return { error: await approvals.unsent(name, ended.error) };
}

/** Returns the facts about a call that the journal stores. */
function callOf(
  { inbox }: CallDeps,
  { role, tool, thread, server, received_at, started_at }: CallRecord,
  { remainingMs }: ServedRequest,
): EndedCall['call'] {
  return {
    ...{ role, tool, receivedAt: received_at, inbox: inbox() },
    ...(thread !== undefined && { thread }),
    ...(server !== undefined && { server }),
    ...(started_at !== undefined && { startedAt: started_at }),
    lifetimeMs: remainingMs() ?? frameDefaults.ttlMs,
  };
}

/**
 * Tells whether the call ended because this orchestrator ends, and not because its requester cancelled it. This end can't be delivered, and
 * the next orchestrator on this inbox should not report it to the requester.
 */
function wasInterrupted({ aborted, reason }: CancelSignal, ended: ToolCallResult): boolean {
  const isClosed = aborted && reason instanceof SignalboxError && reason.code === 'closed';
  return isClosed && 'error' in ended && ended.error.code === 'cancelled';
}
