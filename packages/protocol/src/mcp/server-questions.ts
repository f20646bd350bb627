/** The questions that an MCP server may ask a client, each with the capability that a client declares for it. */
export const questionCapabilities = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const;

/** The method of a question that an MCP server may ask a client. */
export type QuestionMethod = keyof typeof questionCapabilities;
/** A kind of questions, as clients declare it. */
export type QuestionKind = (typeof questionCapabilities)[QuestionMethod];

/** All kinds of questions. */
export const questionKinds = Object.values(questionCapabilities);

/** Returns true if a method is that of a question to a client. */
export function isQuestionMethod(method: unknown): method is QuestionMethod {
  return typeof method === 'string' && Object.hasOwn(questionCapabilities, method);
}

/** The prefix of the `requestState` of a call that goes on running while its caller is asked. */
const statePrefix = 'signalbox-running:';

/** Makes the `requestState` by which a further round finds the running call. `secret` must not be guessable. */
export function runningCallState(secret: string): string {
  return `${statePrefix}${secret}`;
}

/**
 * Tells whether a `requestState` stands for a call that goes on running: a server of a revision up to 2025-11-25 asked in the middle of it.
 * Any other state is one of a server of the 2026-07-28 revision, whose call has ended.
 */
export function isRunningCallState(state: unknown): state is string {
  return typeof state === 'string' && state.startsWith(statePrefix);
}

/** An answer that gives the reason why there is none. Only calls that go on running are told; `isCancelled` ends the call as well. */
export interface NoAnswer {
  error: { code: number; message: string; isCancelled?: true };
}
