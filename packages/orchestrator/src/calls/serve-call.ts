import { handBack, type Log, type ServeAnswer } from '@signalbox/client';
import {
  type Fault,
  type McpReply,
  mayRepeat,
  messageOf,
  repeatOverrideOf,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import type { ToolCallResult } from '@signalbox/tool-calls';
import type { InboxOwnership } from '../journal/inbox-ownership.ts';
import type { Journal } from '../journal/journal.ts';
import { JournaledCall } from '../journal/journaled-call.ts';
import { boundedReply } from './bounded-reply.ts';
import { outcomeOf, outcomeUnknown, replyOf } from './call-outcome.ts';
import type { CallRegistry } from './call-registry.ts';
import { type IncomingCall, type RunCallDeps, runCall } from './run-call.ts';

/** The dependencies of {@link serveCall}. */
export interface CallDeps extends RunCallDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
  ownership: InboxOwnership;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
  log: Log;
}

/**
 * Answers a call. A call that has ended already gets the same reply again. A call that another process may have started
 * and that is not safe to repeat gets the error `outcome_unknown`. Any other call runs. Rejects only if the journal
 * cannot be read, because the case is unknown then.
 */
export async function serveCall(
  deps: CallDeps,
  { request, body, place }: Pick<IncomingCall, 'request' | 'body' | 'place'>,
): Promise<ServeAnswer> {
  const { id, from, seq } = request.message;
  const { fault } = deps;
  const name = { agent: from.agent, requestId: id, role: from.role, tool: body.tool };
  fault('orchestrator.call.received');
  const journaled = deps.journal && new JournaledCall(deps.journal, name);
  const isForeign = deps.ownership.mayHaveStartedElsewhere(seq);
  const end = journaled?.earlier?.end;
  if (end?.reply !== undefined) return answer(fault, journaled, JSON.parse(end.reply));
  // The journal deletes a reply when it has been delivered. Then only the ack is missing, unless it was delivered to the store of
  // which this one is an older copy.
  if (end && !isForeign) return undefined;

  const mayHaveStarted = journaled?.earlier !== undefined || isForeign;
  const isUnknown =
    mayHaveStarted && !(await isRepeatable(deps, body.tool, journaled?.earlier !== undefined));
  const tracked = deps.registry.add(name, journaled?.earlier);
  const ended = isUnknown
    ? { error: outcomeUnknown(id) }
    : await runSafely(deps, { request, body, place, tracked, journaled });
  if (ended === handBack) {
    tracked.dropped();
    return handBack;
  }
  fault('orchestrator.call.returned');
  const { reply, text } = boundedReply(replyOf(ended, body), deps.maxReplyBytes());
  const outcome = outcomeOf(reply);
  tracked.ended(outcome, text);
  if (journaled && !wasInterrupted(request.signal, ended)) {
    try {
      const isWritten = await journaled.finish({ outcome, finishedAt: deps.now(), reply: text });
      if (isWritten) fault('orchestrator.journal.finished');
    } catch (thrown) {
      // The requester can still be told, now; only after a crash would the outcome be unknown.
      deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
    }
  }
  return answer(fault, journaled, reply);
}

/** Runs the call, and turns a fault of the orchestrator itself into an error of the call. */
async function runSafely(deps: CallDeps, call: IncomingCall): Promise<ToolCallResult | typeof handBack> {
  try {
    return await runCall(deps, call);
  } catch (thrown) {
    deps.log({ event: 'request_panicked', id: call.request.message.id, reason: messageOf(thrown) });
    const mayHaveRun = call.tracked.state === 'running';
    return { error: toolCallError('tool_panicked', messageOf(thrown), { mayHaveRun }) };
  }
}

function answer(fault: Fault, journaled: JournaledCall | undefined, reply: McpReply): ServeAnswer {
  fault('orchestrator.reply.before');
  return {
    kind: 'mcp_reply',
    body: reply,
    settled: (how) => {
      fault('orchestrator.reply.after');
      journaled?.settle(how);
    },
  };
}

/**
 * Whether the call ended because this orchestrator does, and not because its requester cancelled it. Such an end can't
 * be delivered, and it is not what the next orchestrator on this inbox should tell the requester.
 */
function wasInterrupted({ aborted, reason }: AbortSignal, ended: ToolCallResult): boolean {
  const isClosed = aborted && reason instanceof SignalboxError && reason.code === 'closed';
  return isClosed && 'error' in ended && ended.error.code === 'cancelled';
}

/**
 * Whether a call of the tool may be repeated, as the present catalog says. A tool that is gone is not repeated. A call that
 * was `startedUnsafe` is in the journal, because its tool was not safe then: what its server declares since does not count.
 */
async function isRepeatable({ catalog }: CallDeps, name: string, startedUnsafe: boolean): Promise<boolean> {
  const tool = (await catalog()).tool(name);
  if (!tool) return false;
  return startedUnsafe ? repeatOverrideOf(tool) === 'safe' : mayRepeat(tool, true);
}
