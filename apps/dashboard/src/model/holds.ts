import { signal } from '@preact/signals';
import type { HoldTarget } from '@signalbox/client/operator';
import type { Hold } from '@signalbox/protocol';
import { holdSubject } from '@signalbox/protocol/holds';
import { act } from './notices.ts';

/** The current holds, the oldest first, as the page last read them. */
export const standingHolds = signal<readonly Hold[]>([]);

/** The first values of the form of a new hold; `undefined` while no form is open. */
export const holdForm = signal<HoldTarget | undefined>(undefined);

/** Releases one hold, and says so. */
export async function releaseHold(hold: Hold): Promise<void> {
  await act('holds/release', { ids: [hold.id] }, () => ({ text: `Released: ${subjectOf(hold)}` }));
}

/** Names the target of a hold. The target of a damaged one is unknown: it counts as a hold on everything. */
export function subjectOf({ damaged, ...hold }: Hold): string {
  return damaged ? 'everything (its record is damaged)' : holdSubject(hold);
}
