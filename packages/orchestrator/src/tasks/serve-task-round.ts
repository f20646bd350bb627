import type { ServeAnswer } from '@signalbox/client';
import { type ToolCallError, taskRoundId, toolCallError, type UpdateTaskRequest } from '@signalbox/protocol';
import { Call, type IncomingCall } from '../calls/call.ts';
import { outcomeUnknown } from '../calls/call-outcome.ts';
import type { CallDeps } from '../calls/step.ts';
import type { CallHandlers } from '../calls/steps.ts';
import { maySeeReply } from '../calls/tool-refusals.ts';
import { keptQuestion, nextRound } from './task-call.ts';
import type { TaskRounds } from './task-rounds.ts';

/** The dependencies of {@link serveTaskRound}. */
export interface TaskRoundDeps extends Pick<CallDeps, 'catalogs' | 'journal' | 'ownership'> {
  tasks: TaskRounds;
  calls: Pick<CallHandlers, 'toolCall' | 'keptAnswers'>;
}

/**
 * Answers the next round of a task. When all answers are there, it is a call like any other; until then it only stores the answers that
 * have come. The id of its request is made of the task's id and the number of the round, so that each round is made once.
 */
export async function serveTaskRound(
  { tasks, calls, ...deps }: TaskRoundDeps,
  { request, body, slot }: Pick<IncomingCall, 'request' | 'slot'> & { body: UpdateTaskRequest },
): Promise<ServeAnswer> {
  const { task_id: taskId, round: number, input_responses: responses } = body;
  const { id, from, seq } = request.message;
  const before = await tasks.find({ agent: from.agent, requestId: taskRoundId(taskId, number - 1) });
  const question = keptQuestion(before?.end);
  const isSeen = before && maySeeReply(await deps.catalogs.current(), from.role, before);
  const first = await tasks.find({ agent: from.agent, requestId: taskId });
  const isTask = first !== undefined && !(await tasks.isLaterRound(first));
  if (!question || !isSeen || !isTask || id !== taskRoundId(taskId, number)) {
    const written = await deps.journal?.find({ agent: from.agent, requestId: id });
    const isKnown = written !== undefined;
    const mayHaveRun = isKnown || deps.ownership.mayHaveStartedElsewhere(seq);
    return refusal(mayHaveRun ? outcomeUnknown(id) : noTask(taskId));
  }
  const { body: call, waiting } = nextRound(question, responses);
  const round = { request, body: call, slot };
  return waiting
    ? await calls.keptAnswers(
        new Call({ ...round, taskRound: { number, waiting: { ...question, task: waiting } } }),
      )
    : await calls.toolCall(new Call({ ...round, taskRound: { number } }));
}

function noTask(taskId: string): ToolCallError {
  const message = `'${taskId}' is no task of yours that waits for answers, or not in this round`;
  return toolCallError('invalid_arguments', message, { mayHaveRun: false });
}

function refusal(error: ToolCallError): ServeAnswer {
  return { kind: 'mcp_reply', body: { error }, errorCode: error.code };
}
