import { messageOf, SignalboxError } from '@signalbox/protocol';

/** An answer that is not there, and why: then it is unknown, and not empty. */
export interface Missing {
  missing: { code: string; message: string };
}

/** Resolves with an answer of the orchestrator, or with why there is none. A defect of ours is thrown. */
export async function orMissing<Answer>(answer: Promise<Answer>): Promise<Answer | Missing> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    return { missing: { code: error.code, message: messageOf(error) } };
  }
}

/** Tells whether an answer is not there. */
export function isMissing(answer: object): answer is Missing {
  return 'missing' in answer;
}
