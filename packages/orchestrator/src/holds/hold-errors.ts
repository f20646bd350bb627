import { type Hold, type ToolCallError, toolCallError } from '@signalbox/protocol';
import { holdText } from '@signalbox/protocol/internal';
import type { Shortage } from '@signalbox/serving';

/** Returns the error for a call that was held until its deadline. It has not run. */
export function heldTooLong(hold: Hold): ToolCallError {
  return toolCallError('held', `the call waited until its deadline: ${holdText(hold)}`, {
    mayHaveRun: false,
    hint: 'The call was not made. Do not seek another way to the same effect: wait for the release, or ask the person.',
  });
}

/** Returns the error for a call that its requester cancelled while it was held. */
export function cancelledWhileHeld(hold: Hold): ToolCallError {
  return toolCallError('cancelled', `the call was cancelled while it waited: ${holdText(hold)}`, {
    mayHaveRun: false,
  });
}

/** Returns the error for a call that a hold cancelled while it ran. */
export function stoppedByHold(hold: Hold, mayHaveRun: boolean): ToolCallError {
  return toolCallError('cancelled', `a hold cancelled the call while it ran: ${holdText(hold)}`, {
    mayHaveRun,
    hint: 'Check what the tool changed before you call it again, and wait for the release.',
  });
}

/** Returns the error for a call that may not wait for a release, because the waiting ones take up the room. */
export function tooManyHeld(
  agent: string,
  hold: Hold,
  { unit, of, limit }: Omit<Shortage<'calls' | 'bytes'>, 'of'> & { of: 'each' | 'minter' | 'all' },
): ToolCallError {
  const whose = {
    each: `held calls of '${agent}'`,
    minter: `held calls of '${agent}' and the other agents of its minting token`,
    all: 'held calls of all agents',
  }[of];
  const what = unit === 'calls' ? `at most ${limit} wait` : `their requests may have ${limit} bytes`;
  return toolCallError('quota_exceeded', `no room among the ${whose}: ${what}; ${holdText(hold)}`, {
    mayHaveRun: false,
    retryAfterSeconds: 60,
    hint: 'This call did not run. Try it again after the release.',
  });
}
