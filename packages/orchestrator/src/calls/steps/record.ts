import { handBack, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import {
  type CallRecord,
  type CancelSignal,
  frameDefaults,
  messageOf,
  SignalboxError,
  type ToolCallError,
} from '@signalbox/protocol';
import { callEvent } from '../../audit/call-events.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { type EndedCall, notWritten } from '../../journal/journaled-call.ts';
import { keepLarge, keptText, type ShownReply, withReason } from '../../results/keep-large.ts';
import { resultRuleOf } from '../../results/result-rules.ts';
import { replyToKeep, sentReply } from '../../tasks/task-call.ts';
import { answerWith } from '../answer-with.ts';
import { boundedReply } from '../bounded-reply.ts';
import type { Call } from '../call.ts';
import { calledOffError, outcomeOf, replyOf } from '../call-outcome.ts';
import { largeLength } from '../large-slices.ts';
import type { CallDeps, Ended, Step } from '../step.ts';
import { panicError } from '../tool-refusals.ts';
import type { TrackedCall } from '../tracked-call.ts';

/** The time after which the requester of a call, including its wait, may have lost patience, in milliseconds. */
const lateMs = 10_000;

/**
 * Shows operators a call while it waits and runs, and makes the answer of its end: the reply is bounded, audited and kept where it has to
 * be. A call that failed because of a fault of the orchestrator itself gets an answer, too.
 */
export const record: Step<ServeAnswer, Ended> = {
  name: 'record',
  explain: () => ({ verdict: 'passes', says: 'operators see the call, and the audit log gets its end' }),
  before(next, deps) {
    const { fault } = deps;
    return async (call) => {
      track(deps, call);
      const isReadAgain = call.taskRound !== undefined || call.journaled?.earlier !== undefined;
      const answered = isReadAgain ? await beginAgain(deps, call) : undefined;
      if (answered) return answered;
      if (call.asked) call.tracked.cleared(call.asked.id);
      let ended: Ended;
      try {
        ended = call.known ?? (await next(call));
      } catch (thrown) {
        ended = { error: panicked(deps, call.tracked, thrown) };
      }
      if (ended === handBack) {
        call.tracked.dropped();
        return handBack;
      }
      fault?.('orchestrator.call.returned');
      return await finish(deps, call, ended);
    };
  },
};

function track(deps: CallDeps, call: Call): void {
  const { request, journaled, name } = call;
  call.tracked = deps.registry.add(name, journaled?.earlier, {
    bytes: Buffer.byteLength(request.message.body ?? ''),
    stop: () => request.stop(),
    keep: journaled && (() => journaled.keep(factsOf(deps, call.tracked.toRecord(), request))),
  });
}

/**
 * Continues a round of a task, or a call that the journal knows. Its task may have been cancelled after the journal was read: then the reply
 * is there, and is the answer.
 */
async function beginAgain({ journal, fault }: CallDeps, call: Call): Promise<ServeAnswer> {
  const { tracked, journaled, taskRound, name } = call;
  if (taskRound?.waiting) tracked.keepsAnswers = true;
  const unwritten = taskRound && (await tracked.becomeTask().then(() => undefined, notWritten));
  if (unwritten) {
    // Its error ends the task.
    tracked.isTask = true;
    call.known ??= { error: unwritten };
  }
  const reply = (await journal?.find(name))?.end?.reply;
  if (reply === undefined) return undefined;
  tracked.dropped();
  return answerWith(fault, sentReply(reply), undefined, (how) => journaled?.settle(how, () => undefined));
}

async function finish(deps: CallDeps, call: Call, result: ToolCallResult): Promise<ServeAnswer> {
  const { request, body, name, tracked, journaled, taskRound } = call;
  const { requestId: id, role, tool } = name;
  const { fault } = deps;
  const wasAsked = tracked.approval !== undefined;
  const ended = tracked.calledOff ? withOperator(tracked, result) : result;
  const whole = replyOf(wasAsked ? await withApproval(deps, call, ended) : ended, body);
  const catalog = deps.catalogs.latest ?? (await deps.catalogs.current());
  const rule = resultRuleOf(catalog.results, role);
  const maxBytes = deps.maxReplyBytes();
  const first = boundedReply(whole, maxBytes);
  // A character takes at most three bytes. A reply that was changed may have been too large for a message.
  const mayBeLarge = rule && (first.reply !== whole || first.text.length * 3 > rule.maxInlineBytes);
  const shown: ShownReply =
    mayBeLarge && 'result' in whole ? await keepLarge(deps, name, rule, whole) : { reply: whole };
  const bounded = shown.reply === whole ? first : boundedReply(shown.reply, maxBytes);
  const reply = shown.notKept === undefined ? bounded.reply : withReason(bounded.reply, shown.notKept);
  const sent = reply === bounded.reply ? bounded.text : JSON.stringify(reply);
  const text = tracked.isTask ? replyToKeep(reply, sent, body, taskRound) : sent;
  const outcome = outcomeOf(reply);
  tracked.ended(outcome, text);
  const facts = tracked.toRecord();
  deps.meter.ended(facts);
  const isForbidden = outcome === 'permission_denied' && tracked.state === 'queued';
  const forbiddenBy = isForbidden ? ruleOf(catalog, role, tool) : undefined;
  const event = callEvent(facts, { rule: forbiddenBy, detail: rule ? keptText(shown) : '' });
  deps.audit.record(event, facts.finished_at);
  // The requester of a call that an operator cancelled is told so.
  const isGivenUp = request.cancellation.aborted && tracked.calledOff === undefined;
  const isLate =
    !isGivenUp && (tracked.isTask || wasAsked || deps.monotonic() - call.arrived.monotonic >= lateMs);
  const endOf = (): EndedCall => ({
    call: factsOf(deps, facts, request),
    end: { outcome, finishedAt: facts.finished_at ?? deps.now(), reply: text, isLate },
  });
  if (journaled?.hasToFinish(isLate) && !wasInterrupted(request.cancellation, result)) {
    try {
      await journaled.finish(endOf());
      fault?.('orchestrator.journal.finished');
    } catch (thrown) {
      // The requester can still be told now; only after a crash would the outcome be unknown.
      deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
    }
  }
  if (wasAsked) {
    if (!wasInterrupted(request.cancellation, result)) void deps.approvals?.ended(name);
    void deps.approvals?.answered(name, reply);
  }
  // A lane bounds what waits on it.
  const isLarge = sent.length > largeLength && request.mayWait;
  const endSlice = isLarge ? await deps.replies.next() : undefined;
  return answerWith(fault, reply, sent, (how) => {
    endSlice?.();
    if (wasAsked) void deps.approvals?.delivered(name, how);
    // Nobody waits for the reply if the requester cancelled the call, or its deadline has passed.
    journaled?.settle(how, () => (isGivenUp ? undefined : endOf()));
  });
}

function ruleOf({ allowlist, inventory }: Catalog, role: string, tool: string): string {
  return allowlist.explain(role, tool, inventory.origins.get(tool)).rule;
}

/** Returns the error for a call that failed because of a fault of the orchestrator itself. */
function panicked({ log }: CallDeps, { name, state }: TrackedCall, thrown: unknown): ToolCallError {
  log({ event: 'request_panicked', id: name.requestId, reason: messageOf(thrown) });
  return panicError({ mayHaveRun: state === 'running' });
}

/** Returns the end of a call, with the words of the operator if one cancelled it. */
function withOperator({ calledOff, name }: TrackedCall, result: ToolCallResult): ToolCallResult {
  if (!calledOff || !('error' in result) || result.error.code !== 'cancelled') return result;
  return { error: calledOffError(name.tool, calledOff, result.error.may_have_run) };
}

/** Returns the end of a call. If it was approved and not sent, its error says what became of the approval. */
async function withApproval(
  { approvals }: CallDeps,
  { name }: Call,
  ended: ToolCallResult,
): Promise<ToolCallResult> {
  if (!approvals || !('error' in ended) || ended.error.may_have_run) return ended;
  return { error: await approvals.unsent(name, ended.error) };
}

/** Returns the facts about a call that the journal stores. */
function factsOf(
  { ownership }: CallDeps,
  { role, tool, thread, server, received_at, started_at }: CallRecord,
  { remainingMs }: ServedRequest,
): EndedCall['call'] {
  return {
    ...{ role, tool, receivedAt: received_at, inbox: ownership.inbox() },
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
