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

/** The number of a caller's tasks, and the bytes of their messages and answers. */
export interface OutsideUsage {
  tasks: number;
  bytes: number;
}

/** The tasks of callers from outside. A change survives the process at once, and the machine after {@link synced}. */
export interface OutsideTasks extends AsyncDisposable {
  /** A secret of 32 bytes, which was made with the table. */
  readonly key: Buffer;
  /** The bytes of all messages and answers. */
  readonly bytes: number;
  /** Stores a new task. Resolves when it is on the disk. */
  add(task: NewOutsideTask): Promise<void>;
  find(id: string): OutsideTask | undefined;
  /** Records that the broker has the message. That is read at once, and written a little later. */
  sent(id: string): void;
  /** Changes the state of a task. Returns false, and changes nothing, if its state is final. */
  change(id: string, change: OutsideChange): boolean;
  /** Resolves when every change before the call is on the disk. Rejects with a `StoreError`, from then on always, if the disk fails. */
  synced(): Promise<void>;
  /** Forgets a task. */
  remove(id: string): void;
  /** Returns the ids of a caller's tasks that have not ended and whose messages the broker does not have yet, the oldest first. */
  unsent(caller: string): string[];
  /** Returns the ids of a caller's tasks that have not ended, although their deadline was before a time. */
  overdue(caller: string, before: number): string[];
  /**
   * Returns a page of tasks, and the number of all that the query selects. The page ends earlier than at its limit if its messages and
   * answers get long; `isMore` says whether there are others.
   */
  list(query: OutsideTaskQuery): { tasks: OutsideTask[]; total: number; isMore: boolean };
  usage(caller: string): Readonly<OutsideUsage>;
  /** Forgets the tasks that ended before a time, and returns their number. */
  forgetEnded(before: number): number;
}
