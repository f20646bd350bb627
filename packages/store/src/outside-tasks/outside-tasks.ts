/** The states of a task. The last four are final. */
export const outsideTaskStates = [
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'rejected',
] as const;

/** The state of a task. */
export type OutsideTaskState = (typeof outsideTaskStates)[number];

/** Returns true for a state that a task never leaves. */
export function isFinalState(state: OutsideTaskState): boolean {
  return state !== 'submitted' && state !== 'working';
}

/** The caller of tasks, the agent that it calls, and the tenant that it names; all three together see the same tasks. */
export interface OutsideScope {
  caller: string;
  agent: string;
  tenant: string;
}

/** A task as it is begun. Times are epoch milliseconds. */
export interface NewOutsideTask extends OutsideScope {
  /** The id of the task, and of the message that asks the agent. */
  id: string;
  context: string;
  /** The hash of the message, by which a repeat is told from another message with the same id. */
  hash: string;
  /** The message, as JSON text. */
  message: string;
  createdAt: number;
  /** The end of the time in which it may be answered. */
  deadlineAt: number;
}

/** A task. */
export interface OutsideTask extends NewOutsideTask {
  state: OutsideTaskState;
  /** True if the broker has the message. */
  isSent: boolean;
  /** The time of its last change. */
  changedAt: number;
  /** The reason of an end without an answer. */
  reason: string | undefined;
  /** The answer, as JSON text. */
  result: string | undefined;
}

/** A change of a task's state. */
export interface OutsideChange {
  state: OutsideTaskState;
  at: number;
  reason?: string;
  result?: string;
}

/** Selects tasks of a scope, the last changed first. */
export interface OutsideTaskQuery extends OutsideScope {
  context?: string | undefined;
  state?: OutsideTaskState | undefined;
  /** Only tasks that have changed since this time. */
  since?: number | undefined;
  /** The last task of the page before. */
  after?: { changedAt: number; id: string } | undefined;
  limit: number;
}

/** The tasks of callers from outside. Each change is on disk when its method returns, unless the method says otherwise. */
export interface OutsideTasks extends Disposable {
  /** A secret of 32 bytes, which was made with the table. */
  readonly key: Buffer;
  /** The bytes of all messages and answers. */
  readonly bytes: number;
  /** Stores a new task. */
  add(task: NewOutsideTask): void;
  find(id: string): OutsideTask | undefined;
  /** Records that the broker has the message. A power cut may take it back. */
  sent(id: string): void;
  /** Changes the state of a task. Returns false, and changes nothing, if its state is final. Only final states are synced. */
  change(id: string, change: OutsideChange): boolean;
  /** Forgets a task. */
  remove(id: string): void;
  /** Returns the tasks of a caller that have not ended. */
  open(caller: string): OutsideTask[];
  /** Returns a page of tasks, and the number of all that the query selects. */
  list(query: OutsideTaskQuery): { tasks: OutsideTask[]; total: number };
  /** Returns the number of a caller's tasks, and the bytes of their messages and answers. */
  usage(caller: string): { tasks: number; bytes: number };
  /** Forgets the tasks that ended before a time, and returns their number. */
  forgetEnded(before: number): number;
}
