import type { CancelFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

/** Handles `cancel`: cancels a request that the caller sent. */
export function cancel(
  { to, correlation_id: id }: CancelFrame,
  { sender }: Caller,
  { delivery }: Pick<FrameDeps, 'delivery'>,
): Outcome {
  return { later: delivery.cancellations.cancel(sender, to, id).then(() => undefined) };
}
