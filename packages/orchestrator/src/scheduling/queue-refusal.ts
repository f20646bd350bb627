import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { NoTurn } from './call-scheduler.ts';

/** Returns the error for a call that the scheduler refused because it may not wait. */
export function queueRefusal(
  worker: string,
  { reason, waiting, retryAfterSeconds }: Extract<NoTurn, { status: 'refused' }>,
): ToolCallError {
  const calls = waiting === 1 ? '1 call' : `${waiting} calls`;
  const message =
    reason === 'queue_full'
      ? `the queue of '${worker}' is full: ${calls} ${waiting === 1 ? 'waits' : 'wait'} in it already`
      : `many workers wait for the tools, so '${worker}' can't have more than ${calls} waiting now`;
  return toolCallError('quota_exceeded', message, {
    mayHaveRun: false,
    retryAfterSeconds,
    hint: 'This call did not run. Make fewer calls at once.',
  });
}
