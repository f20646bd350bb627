import type { TaskState } from '@signalbox/protocol';

/** The time between two requests of a client for the state of a task, in milliseconds. */
const pollIntervalMs = 2_000;

/** The fields of a task that MCP (SEP-2663) gives in every state. */
export interface TaskFields {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  statusMessage?: string;
  /** An ISO 8601 time, as is the next field. */
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number;
  pollIntervalMs: number;
  [field: string]: unknown;
}

/** A task that the agent has. */
export type KnownTask = Exclude<TaskState, { state: 'unknown' }>;

/** Returns the fields of a task as MCP names them. */
export function taskFields(
  taskId: string,
  { created_at, updated_at, ttl_ms }: KnownTask,
  status: TaskFields['status'],
  statusMessage?: string,
): TaskFields {
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(created_at).toISOString(),
    lastUpdatedAt: new Date(updated_at).toISOString(),
    ttlMs: ttl_ms,
    pollIntervalMs,
  };
}

/** Returns the fields of a task that is still running. */
export function workingTask(taskId: string, task: KnownTask): TaskFields {
  const message = task.state === 'working' ? task.message : undefined;
  return taskFields(taskId, task, 'working', message);
}
