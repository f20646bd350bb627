import { SignalboxError } from '@signalbox/protocol';
import type { FaceRefusal } from '@signalbox/worker/shim';
import { type UsedConnection, withConnectionHint } from '../connection/connected-client.ts';
import { reportFailure } from '../run.ts';

/** Reports a face's refusal as if this process had got it from the broker, and returns the exit code. */
export async function reportRefusal(
  { code, message, retryable, hint }: FaceRefusal,
  place: UsedConnection | undefined,
  argv: readonly string[],
): Promise<number> {
  const details = hint === undefined ? {} : { hint };
  const error = new SignalboxError(code, message, { retryable, details });
  return await reportFailure(place ? withConnectionHint(error, place) : error, argv);
}
