import { handBack, type Log, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import {
  type CallRequest,
  type Fault,
  frameDefaults,
  type McpReply,
  mayRepeat,
  messageOf,
  noFault,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import type { InboxOwnership } from '../journal/inbox-ownership.ts';
import type { Journal } from '../journal/journal.ts';
import { JournaledCall } from '../journal/journaled-call.ts';
import { boundedReply } from './bounded-reply.ts';
import { outcomeOf, outcomeUnknown } from './call-outcome.ts';
import type { CallRegistry } from './call-registry.ts';
import { type CallRunner, runCall } from './tool-calls.ts';
import type { TrackedCall } from './tracked-call.ts';

/** What {@link serveCall} needs. */
export interface CallDeps {
  runner: CallRunner;
  registry: CallRegistry;
  journal: Journal | undefined;
  ownership: InboxOwnership;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: () => number;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
  log: Log;
}

/**
 * Answers a call. A call that has ended already gets the same reply again. A call that another process may have started
 * and that is not safe to repeat gets the error `outcome_unknown`. Any other call runs. Rejects only if the journal
 * cannot be read, because then nobody knows which of these it is.
 */
export async function serveCall(
  deps: CallDeps,
  served: ServedRequest,
  call: CallRequest,
): Promise<ServeAnswer> {
  const { id, from, seq } = served.message;
  const name = { agent: from.agent, requestId: id, role: from.role, tool: call.tool };
  deps.fault('orchestrator.call.received');
  const journaled = deps.journal && new JournaledCall(deps.journal, name);
  const end = journaled?.earlier?.end;
  // A reply that is no longer kept was delivered: all that is missing is the ack.
  if (end) return end.reply === undefined ? undefined : answer(deps, journaled, JSON.parse(end.reply));

  const mayHaveStarted = journaled?.earlier !== undefined || deps.ownership.mayHaveStartedElsewhere(seq);
  const isUnknown = mayHaveStarted && !(await isRepeatable(deps, call.tool));
  const tracked = deps.registry.add(name, journaled?.earlier);
  const reply = isUnknown
    ? { error: outcomeUnknown(id) }
    : await run(deps, served, call, { journaled, tracked });
  if (reply === handBack) {
    tracked.dropped();
    return handBack;
  }
  deps.fault('orchestrator.call.returned');
  const bounded = boundedReply(reply, deps.maxReplyBytes());
  const outcome = outcomeOf(bounded.reply);
  tracked.ended(outcome, bounded.text);
  if (!wasBrokenOff(served.signal, reply)) {
    try {
      const isWritten = await journaled?.finish({ outcome, finishedAt: deps.now(), reply: bounded.text });
      if (isWritten) deps.fault('orchestrator.journal.finished');
    } catch (thrown) {
      // The requester can still be told, now; only after a crash would the outcome be unknown.
      deps.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
    }
  }
  return answer(deps, journaled, bounded.reply);
}

/** Runs the call with its start written down first, unless it is safe to repeat. Never rejects. */
async function run(
  deps: CallDeps,
  served: ServedRequest,
  call: CallRequest,
  { journaled, tracked }: { journaled: JournaledCall | undefined; tracked: TrackedCall },
): Promise<McpReply | typeof handBack> {
  const { id, from } = served.message;
  const receivedAt = deps.now();
  let mayHaveRun = false;
  try {
    return await runCall(deps.runner, served, call, {
      calling: (server) => {
        mayHaveRun = true;
        tracked.running(server);
      },
      async writeStart(server) {
        const startedAt = deps.now();
        const expiresAt = startedAt + (served.remainingMs() ?? frameDefaults.ttlMs);
        const to = { role: from.role, tool: call.tool, ...(server !== undefined && { server }) };
        const refusal = await journaled?.start({ ...to, receivedAt, startedAt, expiresAt });
        if (journaled && !refusal) deps.fault('orchestrator.journal.started');
        return refusal;
      },
      sent: deps.fault === noFault ? undefined : () => deps.fault('orchestrator.call.sent'),
    });
  } catch (thrown) {
    deps.log({ event: 'request_panicked', id, reason: messageOf(thrown) });
    return { error: toolCallError('tool_panicked', messageOf(thrown), { mayHaveRun }) };
  }
}

function answer({ fault }: CallDeps, journaled: JournaledCall | undefined, reply: McpReply): ServeAnswer {
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
 * Whether it ended because we do, and not because its requester said so. Such an end can't be delivered and is not
 * what whoever comes after us should tell the requester.
 */
function wasBrokenOff({ aborted, reason }: AbortSignal, reply: McpReply): boolean {
  const isClosed = aborted && reason instanceof SignalboxError && reason.code === 'closed';
  return isClosed && 'error' in reply && reply.error.code === 'cancelled';
}

/** By what is known of the tool now; one that is gone is not repeated. */
async function isRepeatable({ runner }: CallDeps, name: string): Promise<boolean> {
  const catalog = await runner.catalog();
  const tool = catalog.everything().find(name) ?? catalog.hidden(name);
  return tool !== undefined && mayRepeat(tool, true);
}
