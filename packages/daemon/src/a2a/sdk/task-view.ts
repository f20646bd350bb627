import { type Artifact, Message, type Part, Role, type Task, TaskState, type TaskStatus } from '@a2a-js/sdk';
import type { OutsideTask, OutsideTaskState } from '@signalbox/store/outside-tasks';

const states: Readonly<Record<OutsideTaskState, TaskState>> = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  failed: TaskState.TASK_STATE_FAILED,
  canceled: TaskState.TASK_STATE_CANCELED,
  rejected: TaskState.TASK_STATE_REJECTED,
};

/** Returns our name of a state; `undefined` for one that no task of ours has. */
export function ownState(state: TaskState): OutsideTaskState | undefined {
  return (Object.keys(states) as OutsideTaskState[]).find((name) => states[name] === state);
}

/** The parts of a task that a client asked for. */
export interface TaskViewOptions {
  /** The most messages of its history; by default all. */
  historyLength?: number | undefined;
  /** False leaves its artifacts out. */
  artifacts?: boolean;
}

/** Writes a task as clients read it. */
export function taskView(task: OutsideTask, { historyLength, artifacts = true }: TaskViewOptions = {}): Task {
  const { id, context, message } = task;
  const history = historyLength === 0 ? [] : [sentMessage(message, id, context)];
  return {
    id,
    contextId: context,
    status: statusView(task),
    artifacts: artifacts ? artifactsOf(task) : [],
    history,
    metadata: undefined,
  };
}

/** Writes the status of a task, with the reason of an end without an answer. */
export function statusView({ id, context, state, changedAt, reason }: OutsideTask): TaskStatus {
  const timestamp = new Date(changedAt).toISOString();
  const told: Message | undefined =
    reason === undefined
      ? undefined
      : {
          messageId: `${id}-end`,
          contextId: context,
          taskId: id,
          role: Role.ROLE_AGENT,
          parts: [textPart(reason)],
          metadata: undefined,
          extensions: [],
          referenceTaskIds: [],
        };
  return { state: states[state], message: told, timestamp };
}

/** Returns the answer of a task as an artifact, if it has one. */
export function artifactsOf({ result }: OutsideTask): Artifact[] {
  if (result === undefined) return [];
  return [
    {
      artifactId: 'answer',
      name: 'answer',
      description: '',
      parts: [partOf(result)],
      metadata: undefined,
      extensions: [],
    },
  ];
}

function sentMessage(message: string, taskId: string, contextId: string): Message {
  return { ...Message.fromJSON(JSON.parse(message)), taskId, contextId };
}

/** Makes a part of the body of a reply: a text of a text, data of anything else. */
function partOf(body: string): Part {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return textPart(body);
  }
  if (typeof json === 'string') return textPart(json);
  return {
    content: { $case: 'data', value: json },
    metadata: undefined,
    filename: '',
    mediaType: 'application/json',
  };
}

function textPart(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  };
}
