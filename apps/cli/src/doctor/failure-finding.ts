import { messageOf, SignalboxError } from '@signalbox/protocol';
import { type Finding, failed } from './finding.ts';

/** Makes a finding of an error: the hint of the error is the fix, else `fix`. */
export function failureFinding(error: unknown, fix: string): Finding {
  const hint = error instanceof SignalboxError ? error.details.hint : undefined;
  return failed(messageOf(error), typeof hint === 'string' ? hint : fix);
}
