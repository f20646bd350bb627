import {
  type CallRecordOutcome,
  type McpReply,
  maxTaskRounds,
  taskRoundId,
  toolCallError,
} from '@signalbox/protocol';
import { outcomeUnknown } from '../calls/call-outcome.ts';
import type { CallRegistry } from '../calls/call-registry.ts';
import type { TrackedCall } from '../calls/tracked-call.ts';
import type { CallKey } from '../journal/call-key.ts';
import type { Journal, JournalEntry } from '../journal/journal.ts';
import { keptQuestion } from './task-call.ts';

/** What is known of the rounds of tasks: those that this process has seen, and those that are written down. */
export interface TaskRoundsDeps {
  registry: CallRegistry;
  journal: Journal | undefined;
}

/** One round of a task. Times are epoch milliseconds. */
export interface RoundState {
  key: CallKey;
  role: string;
  tool: string;
  receivedAt: number;
  updatedAt: number;
  /** The call, if this process has it and it has not ended. */
  running?: TrackedCall;
  /** Set if the round has ended. */
  end?: { outcome: CallRecordOutcome; reply: McpReply };
}

/** Returns one round of a task; `undefined` if there is none, or its reply is no longer kept. */
export function findRound({ registry, journal }: TaskRoundsDeps, key: CallKey): RoundState | undefined {
  const known = registry.any(key);
  if (known?.isTask && (known.outcome === undefined || known.replyText !== undefined))
    return ofTracked(known);
  const entry = journal?.find(key);
  return entry?.isKept ? ofEntry(entry) : undefined;
}

/** Returns the first and the newest round of a task of an agent, with the number of the newest; `undefined` if there is no such task. */
export function findTask(
  deps: TaskRoundsDeps,
  { agent, requestId: taskId }: CallKey,
): { first: RoundState; newest: RoundState; number: number } | undefined {
  const first = findRound(deps, { agent, requestId: taskId });
  if (!first) return undefined;
  let [newest, number] = [first, 0];
  while (newest.end && keptQuestion(newest.end.reply) && number < maxTaskRounds) {
    const next = findRound(deps, { agent, requestId: taskRoundId(taskId, number + 1) });
    if (!next) break;
    newest = next;
    number++;
  }
  return { first, newest, number };
}

function ofTracked(call: TrackedCall): RoundState {
  const { agent, requestId, role, tool } = call.name;
  const { received_at: receivedAt, started_at, finished_at } = call.toRecord();
  const { outcome, replyText } = call;
  const updatedAt = finished_at ?? started_at ?? receivedAt;
  return {
    ...{ key: { agent, requestId }, role, tool, receivedAt, updatedAt },
    ...(outcome === undefined || replyText === undefined
      ? { running: call }
      : { end: { outcome, reply: JSON.parse(replyText) as McpReply } }),
  };
}

function ofEntry(entry: JournalEntry): RoundState | undefined {
  const { agent, requestId, role, tool, receivedAt, startedAt } = entry;
  const end = endOf(entry);
  if (end === 'forgotten') return undefined;
  const updatedAt = entry.end?.finishedAt ?? startedAt ?? receivedAt;
  return { ...{ key: { agent, requestId }, role, tool, receivedAt, updatedAt }, ...(end && { end }) };
}

/** Returns how a round ended that this process has not seen; `undefined` if it waits for this process to take it on. */
function endOf(entry: JournalEntry): RoundState['end'] | 'forgotten' {
  const { requestId, wasStarted, end, isSettled } = entry;
  if (end) {
    if (end.reply === undefined) return 'forgotten';
    return { outcome: end.outcome, reply: JSON.parse(end.reply) as McpReply };
  }
  if (wasStarted) return ended(outcomeUnknown(requestId));
  if (!isSettled) return undefined;
  const message = 'the deadline of the call passed before it ended';
  return ended(toolCallError('tool_timeout', message, { mayHaveRun: true }));
}

function ended(error: ReturnType<typeof toolCallError>): NonNullable<RoundState['end']> {
  return { outcome: error.code, reply: { error } };
}
