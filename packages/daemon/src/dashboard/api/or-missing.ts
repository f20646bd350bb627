import { messageOf, SignalboxError } from '@signalbox/protocol';

/** A missing answer and the reason: the value is unknown, and not empty. */
export interface Missing {
  missing: { code: string; message: string };
}

/** Resolves with an answer of the orchestrator, or with the reason why there is none. An internal error is thrown. */
export async function orMissing<Answer>(answer: Promise<Answer>): Promise<Answer | Missing> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    return { missing: { code: error.code, message: messageOf(error) } };
  }
}

/** Tells whether an answer is missing. */
export function isMissing(answer: object): answer is Missing {
  return 'missing' in answer;
}
