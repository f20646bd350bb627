import { SignalboxError } from '@signalbox/protocol';
import { parseDuration, parseInstant } from '@signalbox/protocol/internal';

/** The two arguments for the time when a message is handed out. At most one may be given. */
export const dueFields = {
  in: {
    type: 'string',
    description:
      'Hand it out only after this time: a number and ms, s, m, h or d, such as 90m. It is stored at once, and need not be sent again.',
    minLength: 1,
    maxLength: 32,
  },
  not_before: {
    type: 'string',
    description:
      'Hand it out only from this time on, in place of in: a date, a time and a zone, such as 2026-12-01T09:00:00Z.',
    minLength: 1,
    maxLength: 40,
  },
} as const;

/**
 * Returns the milliseconds after which a message should be handed out; `undefined` for now. `now` is in epoch milliseconds. Throws
 * `invalid_arguments` for a time that can't be read or is in the past.
 */
export function waitOf(
  given: { in?: string | undefined; not_before?: string | undefined },
  now: number,
): number | undefined {
  const { in: duration, not_before: instant } = given;
  if (duration !== undefined && instant !== undefined)
    throw invalid("'in' and 'not_before' are two ways to say when; give one of them");
  if (duration !== undefined) {
    const wait = parseDuration(duration);
    if (wait === undefined) throw invalid("'in' must be a number and ms, s, m, h or d, such as 90m");
    return wait;
  }
  if (instant === undefined) return undefined;
  const at = parseInstant(instant, { needsZone: true });
  if (at === undefined)
    throw invalid("'not_before' must be a date, a time and a zone, such as 2026-12-01T09:00:00Z");
  if (at <= now)
    throw invalid(`'not_before' is over: it is ${new Date(now).toISOString()}; leave it out to send now`);
  return at - now;
}

function invalid(message: string): SignalboxError {
  return new SignalboxError('invalid_arguments', message);
}
