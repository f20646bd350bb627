import type { AckFrame, NackFrame, WorkingFrame } from '@signalbox/protocol';
import type { AckResult, Delivery } from '../core/delivery.ts';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

type Deps = Pick<FrameDeps, 'delivery'>;

/** Handles `ack`: the caller is done with these messages. */
export function ack(frame: AckFrame, { consumer }: Caller, { delivery }: Deps): Outcome {
  return result(frame.request_id, delivery.ack(consumer, frame.seqs), delivery);
}

/** Handles `nack`: the caller gives these messages back. */
export function nack(frame: NackFrame, { consumer }: Caller, { delivery }: Deps): Outcome {
  const acked = delivery.nack(consumer, frame.seqs, {
    delayMs: frame.delay_ms ?? 0,
    dead: frame.dead ?? false,
    ...(frame.reason !== undefined && { reason: frame.reason }),
  });
  return result(frame.request_id, acked, delivery);
}

/** Handles `working`: the caller began to work on these messages, or still does. */
export function working(frame: WorkingFrame, { consumer }: Caller, { delivery }: Deps): undefined {
  delivery.working(consumer, frame.seqs);
}

/** The answer that was asked for is given when the settlements are durable. */
function result(requestId: string | undefined, acked: AckResult, delivery: Delivery): Outcome {
  if (requestId === undefined) return undefined;
  const answer = { type: 'ack_result', request_id: requestId, ...acked } as const;
  return { later: delivery.flushed().then(() => ({ answer })) };
}
