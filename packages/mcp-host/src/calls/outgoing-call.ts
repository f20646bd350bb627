import type { CallTarget } from './call-target.ts';
import type { ToolCall } from './tool-call.ts';

/** A call on its way to the instance that serves it. */
export interface OutgoingCall extends ToolCall {
  /** The instance that serves it. */
  target: CallTarget;
  /** True if the call may be made again although it was sent. */
  repeatable: boolean;
}

/** Returns the time that is left for the run itself, in milliseconds. The server's own limit applies, too. */
export function timeLeftOf({ deadline, target }: OutgoingCall, now: number): number {
  return Math.min(deadline - now, target.config.timeoutMs ?? Number.POSITIVE_INFINITY);
}
