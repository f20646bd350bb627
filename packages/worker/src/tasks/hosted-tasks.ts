import { setTimeout as delay } from 'node:timers/promises';
import { isJsonObject } from '@signalbox/protocol';
import { readReply } from '../executor/call-result.ts';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { endsCall } from '../tools/face-tools.ts';
import { answerOf } from '../tools/hosted-tools.ts';
import { internalError, invalidParams, JsonRpcError } from '../tools/json-rpc-error.ts';
import type { SeenLinks } from '../tools/seen-links.ts';
import { failureText, type ToolResult } from '../tools/tool-result.ts';
import { type KnownTask, type TaskFields, taskFields, workingTask } from './task-fields.ts';
import { requestTask } from './task-requests.ts';

/** The pause between two checks whether answers were taken in, and the number of checks. The answers are on disk by then. */
const againMs = 50;
const maxAgain = 40;

/** A task with its result, as `tasks/get` shows it. */
export interface ShownTask {
  task: TaskFields;
  /** Set if the task is completed; with the output schema under which its tool is listed. */
  result?: { result: ToolResult; outputSchema?: Record<string, unknown> | undefined };
}

/** The tasks of an agent (SEP-2663). All reject with `JsonRpcError`. */
export interface FaceTasks {
  get(taskId: unknown, signal: AbortSignal): Promise<ShownTask>;
  /**
   * Answers questions of a task. Answers to other questions are ignored. Resolves when the answers are on disk and, as a rule, taken in.
   */
  update(taskId: unknown, responses: unknown, signal: AbortSignal): Promise<void>;
  cancel(taskId: unknown, signal: AbortSignal): Promise<void>;
}

/** The tasks that calls of the orchestrator's tools have become. */
export function hostedTasks(executor: McpProxyExecutor, links: SeenLinks): FaceTasks {
  return {
    async get(taskId, signal) {
      const task = await requestTask(executor, 'task', taskId, signal);
      const id = taskId as string;
      if (task.state !== 'input_required' || Object.keys(task.input_requests).length > 0)
        return shown(executor, id, task, links);
      // The tool wants to be called again, and asks no question.
      await sendRound(executor, id, task, {});
      return { task: workingTask(id, task) };
    },
    async update(taskId, responses, signal) {
      if (!isJsonObject(responses))
        throw new JsonRpcError(invalidParams, 'inputResponses: it must be an object');
      let sent: { round: number; isTaken: boolean } | undefined;
      for (let tries = 0; tries < maxAgain; tries++) {
        const task = await requestTask(executor, 'task', taskId, signal);
        if (task.state !== 'input_required') return;
        const given = Object.entries(responses).filter(([name]) => Object.hasOwn(task.input_requests, name));
        if (given.length === 0) return;
        if (sent?.round === task.round) {
          await delay(againMs, undefined, { signal });
          continue;
        }
        const isTaken = await sendRound(executor, taskId as string, task, Object.fromEntries(given));
        // Other answers have used this round meanwhile: these are for the next one.
        sent = { round: task.round, isTaken };
      }
      if (sent?.isTaken)
        throw new JsonRpcError(
          internalError,
          'the answers were not taken: others came at the same time, and the orchestrator is slow to take those on. Send them again.',
        );
    },
    async cancel(taskId, signal) {
      await requestTask(executor, 'cancel_task', taskId, signal);
    },
  };
}

/** Sends the next round of a task. Resolves when one is on disk: with true if that may be another one. */
async function sendRound(
  executor: McpProxyExecutor,
  taskId: string,
  { round, tool }: KnownTask,
  responses: Record<string, unknown>,
): Promise<boolean> {
  const body = { op: 'update_task', task_id: taskId, round: round + 1, input_responses: responses } as const;
  const { isTaken, error } = await executor.updateTask(body, tool);
  if (error) throw new JsonRpcError(internalError, failureText(error), { error });
  return isTaken;
}

function shown(executor: McpProxyExecutor, taskId: string, task: KnownTask, links: SeenLinks): ShownTask {
  switch (task.state) {
    case 'working':
      return { task: workingTask(taskId, task) };
    case 'input_required': {
      const fields = taskFields(taskId, task, 'input_required');
      return { task: { ...fields, inputRequests: task.input_requests } };
    }
    case 'finished':
      return ended(executor, taskId, task, links);
  }
}

function ended(
  executor: McpProxyExecutor,
  taskId: string,
  task: KnownTask & { state: 'finished' },
  links: SeenLinks,
): ShownTask {
  const { tool: name, reply } = task;
  const error = 'error' in reply ? reply.error : undefined;
  if (error?.code === 'cancelled') return { task: taskFields(taskId, task, 'cancelled', failureText(error)) };
  try {
    const answer = answerOf(executor, { name, requestId: taskId, links }, readReply(reply));
    if (!endsCall(answer.result)) throw new JsonRpcError(internalError, 'the task ended with a question');
    const { result, outputSchema } = answer;
    return { task: taskFields(taskId, task, 'completed'), result: { result, outputSchema } };
  } catch (thrown) {
    if (!(thrown instanceof JsonRpcError)) throw thrown;
    const fields = taskFields(taskId, task, 'failed', thrown.message);
    return { task: { ...fields, error: thrown.toRpc() } };
  }
}
