import {
  type CallRequest,
  type InputRequired,
  isJsonObject,
  type McpReply,
  readJson,
} from '@signalbox/protocol';

/** A call that asks its caller for input, with everything that its next round needs. It is kept beside the reply that asks. */
export interface TaskCall {
  call: Pick<CallRequest, 'tool' | 'arguments' | 'options' | 'meta'>;
  client_capabilities?: Record<string, unknown>;
  /** The number of the round that asked. The names of its questions begin with it, so that no name occurs twice in a task. */
  asked_in: number;
  /** The answers that have come already, under the server's own names. */
  answered: Record<string, unknown>;
}

/** A round of a task after the first. */
export interface TaskRound {
  number: number;
  /** The questions of the previous round, with the answers that have come. Set if some are missing: then this round calls nothing. */
  waiting?: KeptQuestion | undefined;
}

/** A reply that asks for input, in its kept form. */
export interface KeptQuestion {
  input_required: InputRequired;
  task: TaskCall;
}

/**
 * Returns the JSON text of a task's reply in its kept form; `sent` is the text as it is sent. A reply that asks for input is kept with its
 * call: another process than the one that made it may continue it.
 */
export function replyToKeep(
  reply: McpReply,
  sent: string,
  body: CallRequest,
  round: TaskRound | undefined,
): string {
  if (!('input_required' in reply)) return sent;
  const task = round?.waiting?.task ?? taskCallOf(body, round?.number ?? 0);
  return JSON.stringify({ ...reply, task } satisfies KeptQuestion);
}

function taskCallOf(
  { tool, arguments: args, options, meta, round }: CallRequest,
  asked_in: number,
): TaskCall {
  const { timeout_ms } = options ?? {};
  return {
    call: {
      tool,
      ...(args !== undefined && { arguments: args }),
      ...(timeout_ms !== undefined && { options: { timeout_ms } }),
      ...(meta && { meta }),
    },
    ...(round?.client_capabilities && { client_capabilities: round.client_capabilities }),
    asked_in,
    answered: {},
  };
}

/** Returns a reply in its sent form, from its kept JSON text. */
export function sentReply(kept: string): McpReply {
  const reply = readJson(kept) as McpReply;
  if (!kept.startsWith('{"input_required":') || !('input_required' in reply)) return reply;
  return { input_required: reply.input_required };
}

/** Returns the questions of a round's kept reply, and the call that they belong to; `undefined` if it asks nothing. */
export function keptQuestion(end: { outcome: string; reply: string } | undefined): KeptQuestion | undefined {
  if (end?.outcome !== 'input_required') return undefined;
  const reply = readJson(end.reply) as McpReply;
  return 'task' in reply ? (reply as unknown as KeptQuestion) : undefined;
}

/** Returns the questions without an answer, under the names that they have in the task. */
export function openQuestions({ input_required: asked, task }: KeptQuestion): Record<string, unknown> {
  const questions = Object.entries(requestsOf(asked)).filter(([key]) => !Object.hasOwn(task.answered, key));
  return Object.fromEntries(questions.map(([key, question]) => [nameOf(task, key), question]));
}

/**
 * Returns the body of the next round, with the answers that have come; `waiting` is set if some are still missing. Answers to questions
 * that were not asked, or were answered before, are left out.
 */
export function nextRound(
  kept: KeptQuestion,
  responses: Record<string, unknown>,
): { body: CallRequest; waiting: TaskCall | undefined } {
  const { input_required: asked, task } = kept;
  const keys = Object.keys(requestsOf(asked));
  const given = keys.flatMap((key) => {
    const name = nameOf(task, key);
    return !Object.hasOwn(task.answered, key) && Object.hasOwn(responses, name)
      ? [[key, responses[name]]]
      : [];
  });
  const answered: Record<string, unknown> = { ...task.answered, ...Object.fromEntries(given) };
  const { requestState } = asked as { requestState?: unknown };
  const body: CallRequest = {
    op: 'call',
    ...task.call,
    round: {
      ...(task.client_capabilities && { client_capabilities: task.client_capabilities }),
      ...(keys.length > 0 && { input_responses: answered }),
      ...(typeof requestState === 'string' && { request_state: requestState }),
    },
  };
  const isWhole = keys.every((key) => Object.hasOwn(answered, key));
  return { body, waiting: isWhole ? undefined : { ...task, answered } };
}

function requestsOf({ inputRequests }: InputRequired & { inputRequests?: unknown }): Record<string, unknown> {
  return isJsonObject(inputRequests) ? inputRequests : {};
}

function nameOf({ asked_in }: TaskCall, key: string): string {
  return `${asked_in}.${key}`;
}
