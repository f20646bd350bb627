import { idPattern, type TaskState, taskStateSchema } from '@signalbox/protocol';
import type { CallResult } from '../executor/call-result.ts';
import { type Asker, askOrchestrator, unreadableAnswer } from '../executor/orchestrator-question.ts';
import { internalError, invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import { failureText } from '../tools/tool-result.ts';

const askTimeoutMs = 10_000;

/** Has the orchestrator make a task of a call that waits or runs. Every failure is a return value. */
export function beginTask(asker: Asker, taskId: string, signal: AbortSignal): Promise<CallResult<TaskState>> {
  return ask(asker, { op: 'task', task_id: taskId, begins: true }, signal);
}

/**
 * Asks for a task of the agent, or calls it off. Rejects with `JsonRpcError`, with the same one for a task that never was, whose time is
 * over, and that is another agent's.
 */
export async function requestTask(
  asker: Asker,
  op: 'task' | 'cancel_task',
  taskId: unknown,
  signal: AbortSignal,
): Promise<Exclude<TaskState, { state: 'unknown' }>> {
  if (typeof taskId !== 'string') throw new JsonRpcError(invalidParams, 'taskId: it must be a text');
  // Ids of another form are nobody's.
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
  // The reply inside is a tool's own result, which is passed on as it came.
  if (read.success) return { result: answer.result as TaskState };
  return { error: unreadableAnswer('no state of a task') };
}

function noTask(): JsonRpcError {
  return new JsonRpcError(
    invalidParams,
    'there is no task of yours with this id: it never was, its time is over, or its result is no longer kept',
  );
}
