import { idPattern, type TaskState, taskStateSchema } from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import { type Asker, askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';
import { internalError, invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import { failureText } from '../tools/tool-result.ts';

const askTimeoutMs = 10_000;

/** Makes the orchestrator turn a waiting or running call into a task. Every failure is a return value. */
export function beginTask(asker: Asker, taskId: string, signal: AbortSignal): Promise<CallResult<TaskState>> {
  return ask(asker, { op: 'task', task_id: taskId, begins: true }, signal);
}

/**
 * Asks for a task of the agent, or cancels it. Rejects with `JsonRpcError`: with the same one for a task that never existed, one whose time
 * is over, and one of another agent.
 */
export async function requestTask(
  asker: Asker,
  op: 'task' | 'cancel_task',
  taskId: unknown,
  signal: AbortSignal,
): Promise<Exclude<TaskState, { state: 'unknown' }>> {
  if (typeof taskId !== 'string') throw new JsonRpcError(invalidParams, 'taskId: it must be a text');
  // An id of another form belongs to no task.
  if (!idPattern.test(taskId)) throw noTask();
  const { result: task, error } = await ask(asker, { op, task_id: taskId }, signal);
  if (error) throw new JsonRpcError(internalError, failureText(error), { error });
  if (task.state === 'unknown') throw noTask();
  return task;
}

async function ask(
  asker: Asker,
  body: { op: string; task_id: string; begins?: true },
  signal: AbortSignal,
): Promise<CallResult<TaskState>> {
  const answer = await askOrchestrator(asker, body, { timeoutMs: askTimeoutMs, signal });
  if (answer.error) return answer;
  const read = taskStateSchema.safeParse(answer.result);
  // The reply inside is a tool's own result, which is passed on unchanged.
  if (read.success) return { result: answer.result as TaskState };
  return { error: unreadableAnswer('no state of a task') };
}

function noTask(): JsonRpcError {
  return new JsonRpcError(
    invalidParams,
    'there is no task of yours with this id: it never was, its time is over, or its result is no longer kept',
  );
}
