import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/**
 * A leap of the broker's clock that it does not trust yet, and the counts of what is held back because of that. Times are epoch
 * milliseconds.
 */
export type ClockHold = NonNullable<AdminResult<'clock'>['hold']>;

/**
 * Tells whether a person should look at a leap of the clock. A broker that was down for a while finds its clock ahead at every start, so
 * a leap at the start matters only if the broker holds something back.
 */
export function isNotableLeap(hold: ClockHold | undefined): hold is ClockHold {
  return hold !== undefined && (!hold.at_start || hold.requests + hold.messages > 0);
}

/** Reads whether the broker holds back messages because its clock leapt. Resolves with `undefined` if the broker trusts its clock. */
export async function readClock(client: BrokerClient): Promise<ClockHold | undefined> {
  return (await client.admin('clock', {})).hold;
}

/** Makes the broker trust its clock. Resolves with the counts of what was held back, or `undefined` if nothing was. */
export async function acceptClock(client: BrokerClient): Promise<ClockHold | undefined> {
  return (await client.admin('clock_accept', {})).hold;
}
