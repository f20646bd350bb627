import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** A leap of the broker's clock that it does not believe yet, and what is held back because of that. Times are epoch milliseconds. */
export type ClockHold = NonNullable<AdminResult<'clock'>['hold']>;

/** Reads whether the broker holds back what its clock says is over. Resolves with `undefined` if the broker believes its clock. */
export async function readClock(client: BrokerClient): Promise<ClockHold | undefined> {
  return (await client.admin('clock', {})).hold;
}

/** Has the broker believe its clock. Resolves with what was held back, or `undefined` if nothing was. */
export async function acceptClock(client: BrokerClient): Promise<ClockHold | undefined> {
  return (await client.admin('clock_accept', {})).hold;
}
