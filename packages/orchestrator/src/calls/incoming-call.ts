import type { ServedRequest } from '@signalbox/client';
import type { CallRequest } from '@signalbox/protocol';
import type { JournaledCall } from '../journal/journaled-call.ts';
import type { RequestPlace } from './request-room.ts';
import type { TrackedCall } from './tracked-call.ts';

/** A call that has arrived: its request, its state here, and its journal entry. */
export interface IncomingCall {
  request: ServedRequest;
  body: CallRequest;
  place: RequestPlace;
  tracked: TrackedCall;
  /** The call in the journal; `undefined` without a journal. */
  journaled: JournaledCall | undefined;
}
