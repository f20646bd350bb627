import type { QuestionMethod } from '@signalbox/protocol';
import { mcpErrorCode } from '../tool-calls/index.ts';
import type { NobodyAsked } from './addressee.ts';

/** The reason why a question is not passed on. */
export type Refusal = NobodyAsked | 'not_declared' | 'too_many' | 'too_large' | 'no_room' | 'ended';

/** The most questions that one call may ask. */
export const maxQuestions = 32;
/** The most characters of one question, as JSON. */
export const maxQuestionLength = 1024 * 1024;

const words: Record<Refusal, string> = {
  no_call: 'no call is running here, so nobody can be asked',
  several_agents:
    'calls of several agents are running here, and a question does not say to which of them it belongs; a server that asks often needs an instance for each worker (share: worker)',
  earlier_call: 'a call of another agent was given up a short while ago, and the question may belong to it',
  not_able: 'the client that made the call cannot be asked for this',
  not_declared: 'this client has not declared that it can be asked for this',
  too_many: `a call may ask at most ${maxQuestions} questions`,
  too_large: `a question may have at most ${maxQuestionLength} characters`,
  no_room: 'too many questions wait for their answers; try again later',
  ended: 'the call has ended, so nobody answers any more',
};

/** The error with which a server is told that its question has no answer. The SDK sends `code`, `message` and `data`. */
export class QuestionError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Returns the reason for a refusal as a sentence. */
export function refusalText(method: QuestionMethod, why: Refusal): string {
  return `${method}: ${words[why]}`;
}

/** Makes the error for a question that is refused. */
export function refusedQuestion(method: QuestionMethod, why: Refusal): QuestionError {
  const isUnknown = why === 'not_able' || why === 'not_declared';
  const code = isUnknown ? mcpErrorCode.methodNotFound : mcpErrorCode.internalError;
  return new QuestionError(code, refusalText(method, why), { reason: why });
}
