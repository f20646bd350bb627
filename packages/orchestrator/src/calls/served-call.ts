import { handBack, type Log, type ServeAnswer, type ServedRequest } from '@signalbox/client';
import {
  type CallRequest,
  defaultTtlMs,
  type Fault,
  type McpReply,
  mayRepeat,
  messageOf,
  noFault,
  SignalboxError,
  toolCallError,
} from '@signalbox/protocol';
import type { InboxHistory } from '../journal/inbox-ownership.ts';
import { JournalPage } from '../journal/journaled-call.ts';
import type { CallRecords } from '../operator/call-lookup.ts';
import { boundedReply } from './bounded-reply.ts';
import { outcomeOf, outcomeUnknown } from './call-outcome.ts';
import { type CallRunner, runCall } from './tool-calls.ts';
import type { OpenCall } from './tracked-call.ts';

/** Everything that a call passes on its way to an answer. */
export interface CallDesk extends CallRecords {
  runner: CallRunner;
  history: InboxHistory;
  /** The longest reply that can be delivered. */
  maxReplyBytes: () => number;
  /** Epoch milliseconds. */
  now: () => number;
  fault: Fault;
  log: Log;
}

/**
 * Answers a call: with the reply it had before, if it has ended before; with `outcome_unknown`, if it may have been
 * started by somebody who is gone and is not safe to repeat; else by running it. Rejects only if the journal can't be
 * read, so that nobody knows which it is.
 */
export async function serveCall(
  desk: CallDesk,
  served: ServedRequest,
  call: CallRequest,
): Promise<ServeAnswer> {
  const { id, from, seq } = served.message;
  const name = { agent: from.agent, requestId: id, role: from.role, tool: call.tool };
  desk.fault('orchestrator.call.received');
  const page = desk.journal && new JournalPage(desk.journal, name);
  const end = page?.earlier?.end;
  // A reply that is no longer kept was delivered: all that is missing is the ack.
  if (end) return end.reply === undefined ? undefined : answer(desk, page, JSON.parse(end.reply));

  const mayHaveStarted = page?.earlier !== undefined || desk.history.mayHaveStartedElsewhere(seq);
  const isUnknown = mayHaveStarted && !(await isRepeatable(desk, call.tool));
  const open = desk.book.open(name, page?.earlier);
  const reply = isUnknown ? { error: outcomeUnknown(id) } : await run(desk, served, call, { page, open });
  if (reply === handBack) {
    open.dropped();
    return handBack;
  }
  desk.fault('orchestrator.call.returned');
  const bounded = boundedReply(reply, desk.maxReplyBytes());
  const outcome = outcomeOf(bounded.reply);
  open.ended(outcome, bounded.text);
  if (!wasBrokenOff(served.signal, reply)) {
    try {
      const isWritten = await page?.finish({ outcome, finishedAt: desk.now(), reply: bounded.text });
      if (isWritten) desk.fault('orchestrator.journal.finished');
    } catch (thrown) {
      // The requester can still be told, now; only after a crash would the outcome be unknown.
      desk.log({ event: 'journal_failed', id, reason: messageOf(thrown) });
    }
  }
  return answer(desk, page, bounded.reply);
}

/** Runs the call with its start written down first, unless it is safe to repeat. Never rejects. */
async function run(
  desk: CallDesk,
  served: ServedRequest,
  call: CallRequest,
  { page, open }: { page: JournalPage | undefined; open: OpenCall },
): Promise<McpReply | typeof handBack> {
  const { id, from } = served.message;
  const receivedAt = desk.now();
  let mayHaveRun = false;
  try {
    return await runCall(desk.runner, served, call, {
      calling: (server) => {
        mayHaveRun = true;
        open.running(server);
      },
      async writeStart(server) {
        const startedAt = desk.now();
        const expiresAt = startedAt + (served.remainingMs() ?? defaultTtlMs);
        const to = { role: from.role, tool: call.tool, ...(server !== undefined && { server }) };
        const refusal = await page?.start({ ...to, receivedAt, startedAt, expiresAt });
        if (page && !refusal) desk.fault('orchestrator.journal.started');
        return refusal;
      },
      sent: desk.fault === noFault ? undefined : () => desk.fault('orchestrator.call.sent'),
    });
  } catch (thrown) {
    desk.log({ event: 'request_panicked', id, reason: messageOf(thrown) });
    return { error: toolCallError('tool_panicked', messageOf(thrown), { mayHaveRun }) };
  }
}

function answer({ fault }: CallDesk, page: JournalPage | undefined, reply: McpReply): ServeAnswer {
  fault('orchestrator.reply.before');
  return {
    kind: 'mcp_reply',
    body: reply,
    settled: (how) => {
      fault('orchestrator.reply.after');
      page?.settle(how);
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
async function isRepeatable({ runner }: CallDesk, name: string): Promise<boolean> {
  const catalog = await runner.catalog();
  const tool = catalog.everything().find(name) ?? catalog.hidden(name);
  return tool !== undefined && mayRepeat(tool, true);
}
