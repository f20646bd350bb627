import { idPattern } from '@signalbox/protocol/names';
import type { TurnRef } from '@signalbox/worker/internal';

/** The most messages of one turn that a face takes. */
const maxMessages = 64;

/**
 * Returns the turn for which this process was started by `worker serve`; `undefined` if it was not. A user who sets
 * these variables by hand only loses by it: the face takes no mail.
 */
export function servedTurn(env: NodeJS.ProcessEnv): TurnRef | undefined {
  if (env.SIGNALBOX_SERVED !== '1') return undefined;
  const seqs = (env.SIGNALBOX_TURN ?? '').split(',').map(Number);
  const { SIGNALBOX_TURN_GROUP: group, SIGNALBOX_TURN_THREAD: thread } = env;
  return {
    seqs: seqs.filter((seq) => Number.isSafeInteger(seq) && seq > 0).slice(0, maxMessages),
    ...(group !== undefined && { group }),
    ...(thread !== undefined && idPattern.test(thread) && { thread }),
  };
}
