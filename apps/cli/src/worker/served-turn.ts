/** The most messages of one turn that a face takes. */
const maxMessages = 64;

/**
 * Returns the sequence numbers of the messages of the turn for which this process was started by `worker serve`; `undefined` if it was
 * not. Whoever sets the variables gets less by it: a face that takes no mail.
 */
export function servedTurn(env: NodeJS.ProcessEnv): number[] | undefined {
  if (env.SIGNALBOX_SERVED !== '1') return undefined;
  const seqs = (env.SIGNALBOX_TURN ?? '').split(',').map(Number);
  return seqs.filter((seq) => Number.isSafeInteger(seq) && seq > 0).slice(0, maxMessages);
}
