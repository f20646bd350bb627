import type { McpHost } from '@signalbox/mcp-host';
import {
  type CancelTaskRequest,
  type McpReply,
  maxTaskRounds,
  readJson,
  type Sender,
  type TaskRequest,
  type TaskState,
  taskRoundId,
  toolCallError,
} from '@signalbox/protocol';
import type { CallKey } from '@signalbox/store/journal';
import type { Approvals } from '../approvals/approvals.ts';
import { maySeeReply } from '../calls/tool-refusals.ts';
import type { TrackedCall } from '../calls/tracked-call.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import { stopCall } from '../operator/cancel-call.ts';
import { type KeptQuestion, keptQuestion, openQuestions } from './task-call.ts';
import type { FoundTask, RoundState, TaskRounds, TaskRoundsDeps } from './task-rounds.ts';

/** The dependencies of {@link answerTask} and {@link answerCancelTask}. */
export interface TaskDeps extends TaskRoundsDeps {
  tasks: TaskRounds;
  host: McpHost;
  approvals: Approvals | undefined;
  catalogs: Pick<CatalogTracker, 'current'>;
  /** Returns the name of the broker and the inbox through which requests come. */
  inbox: () => string;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Reports the state of the asker's task. With `begins`, a waiting or running call is made a task first. */
export async function answerTask(
  deps: TaskDeps,
  asker: Sender,
  { task_id: requestId, begins }: TaskRequest,
): Promise<McpReply> {
  const key = { agent: asker.agent, requestId };
  if (begins) await deps.registry.find(key)?.becomeTask();
  const found = await taskOf(deps, await deps.catalogs.current(), asker, key);
  return { data: found ? stateOf(deps, found) : ({ state: 'unknown' } satisfies TaskState) };
}

/** Cancels a task of the asker. A task that has ended stays as it is. */
export async function answerCancelTask(
  deps: TaskDeps,
  asker: Sender,
  { task_id: taskId }: CancelTaskRequest,
): Promise<McpReply> {
  const { agent } = asker;
  const catalog = await deps.catalogs.current();
  const found = await taskOf(deps, catalog, asker, { agent, requestId: taskId });
  if (!found) return { data: { state: 'unknown' } satisfies TaskState };
  const { newest, number } = found;
  // It ended while the rounds were read, and may wait for answers now.
  if (newest.running?.outcome !== undefined)
    return await answerCancelTask(deps, asker, { op: 'cancel_task', task_id: taskId });
  const question = keptQuestion(newest.end);
  const next = question && number < maxTaskRounds ? taskRoundId(taskId, number + 1) : undefined;
  const stop = (call: TrackedCall) => stopCall(deps, call, { by: asker, reason: undefined });
  const key = { agent, requestId: next ?? newest.key.requestId };
  // Nothing is awaited from here to the write of an end: a round that arrives meanwhile finds that end.
  const running = newest.running ?? deps.registry.running(key);
  if (running) await stop(running);
  else if (!newest.end || next !== undefined) {
    await endAsCancelled(deps, newest, key);
    // Its request may have been accepted before the end was written.
    const takenOn = deps.registry.find(key);
    if (takenOn) await stop(takenOn);
    deps.host.stopWaiting(question && stateOfRound(question), agent);
  }
  return await answerTask(deps, asker, { op: 'task', task_id: taskId });
}

/**
 * Finds a task that the asker may see; a task that it may not see counts as missing. While answers are being written, the task neither
 * works nor waits for answers, so this waits for the write.
 */
async function taskOf(
  { tasks }: TaskDeps,
  catalog: Catalog,
  { role }: Sender,
  key: CallKey,
): Promise<FoundTask | undefined> {
  let found = await tasks.task(key);
  while (found?.newest.running?.keepsAnswers) {
    await found.newest.running.over;
    found = await tasks.task(key);
  }
  const isSeen = found && [found.first, found.newest].every((round) => maySeeReply(catalog, role, round));
  return isSeen ? found : undefined;
}

/** Returns the state of a task. A call that asked its caller directly, and was no task, has none. */
function stateOf({ journal, now }: TaskDeps, { first, newest, number }: FoundTask): TaskState {
  const fields = {
    tool: first.tool,
    round: number,
    created_at: first.receivedAt,
    updated_at: newest.updatedAt,
    ttl_ms: Math.max(1, (first.end ? first.updatedAt : now()) - first.receivedAt) + (journal?.keptMs ?? 0),
  };
  const { running, end } = newest;
  if (!end) {
    const message = running && messageOf(running);
    return { state: 'working', ...fields, ...(message !== undefined && { message }) };
  }
  const question = keptQuestion(end);
  if (!question && end.outcome === 'input_required') return { state: 'unknown' };
  if (question && number < maxTaskRounds)
    return { state: 'input_required', ...fields, input_requests: openQuestions(question) };
  const reply = question ? { error: tooManyRounds() } : (readJson(end.reply) as McpReply);
  const outcome = question ? tooManyRounds().code : end.outcome;
  return { state: 'finished', ...fields, outcome, reply };
}

function messageOf(call: TrackedCall): string | undefined {
  const { approval = '', hold = '' } = call;
  const { position, progress } = call.toRecord();
  switch (call.state) {
    case 'queued':
      return position === undefined ? 'waits for its turn' : `waits for its turn, at place ${position}`;
    case 'held':
      return `is on hold: ${hold}`;
    case 'awaiting_approval':
      return `waits for the decision of a person (approval ${approval})`;
    case 'running': {
      if (!progress) return undefined;
      const { progress: done, total } = progress;
      return total === undefined ? `progress ${done}` : `progress ${done} of ${total}`;
    }
  }
}

/** Writes that a round ended before it began. A request for it that is being served gets the same answer. */
async function endAsCancelled(
  { journal, inbox, now }: TaskDeps,
  { role, tool, receivedAt }: RoundState,
  key: CallKey,
): Promise<void> {
  const error = toolCallError('cancelled', 'the task was cancelled by its agent', { mayHaveRun: false });
  const reply = JSON.stringify({ error } satisfies McpReply);
  const end = { outcome: error.code, finishedAt: now(), reply, isLate: true };
  const call = { ...key, role, tool, receivedAt, inbox: inbox(), lifetimeMs: 0 };
  await Promise.all([journal?.keep(call), journal?.finish(key, end)]);
  journal?.settle(key, 'waits');
}

function stateOfRound({ input_required: asked }: KeptQuestion): string | undefined {
  const { requestState } = asked as { requestState?: unknown };
  return typeof requestState === 'string' ? requestState : undefined;
}

function tooManyRounds() {
  return toolCallError(
    'internal',
    `the tool asked its caller for input in more than ${maxTaskRounds} rounds`,
    {
      mayHaveRun: true,
    },
  );
}
