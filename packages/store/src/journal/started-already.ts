import { SignalboxError } from '@signalbox/protocol';
import type { CallKey } from './call-key.ts';

/** Makes the error for a call that may not be started, because it was started before and may be running. */
export function startedAlready({ agent, requestId }: CallKey): SignalboxError {
  return new SignalboxError(
    'journal_already_started',
    `the call ${requestId} of '${agent}' was started meanwhile, or is running`,
  );
}
