import { type AckFrame, furtherCosts, type NackFrame, type WorkingFrame } from '@signalbox/protocol';
import type { AckResult, Delivery } from '../core/delivery.ts';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

type Deps = Pick<FrameDeps, 'delivery'>;

/** Handles `ack`: settles messages that the caller has handled. */
export function ack(frame: AckFrame, { consumer, budget }: Caller, { delivery }: Deps): Outcome {
  budget.spendFrames(frame.seqs.length * furtherCosts.seq);
  return answerWhenDurable(frame.request_id, delivery.ack(consumer, frame.seqs), delivery);
}

/** Handles `nack`: gives back messages that the caller did not handle. */
export function nack(frame: NackFrame, { consumer, budget }: Caller, { delivery }: Deps): Outcome {
  budget.spendFrames(frame.seqs.length * furtherCosts.seq);
  const acked = delivery.nack(consumer, frame.seqs, {
    delayMs: frame.delay_ms ?? 0,
    dead: frame.dead ?? false,
    ...(frame.reason !== undefined && { reason: frame.reason }),
  });
  return answerWhenDurable(frame.request_id, acked, delivery);
}

/** Handles `working`: notes that the caller works on messages. */
export function working(frame: WorkingFrame, { consumer, budget }: Caller, { delivery }: Deps): undefined {
  budget.spendFrames(frame.seqs.length * furtherCosts.seq);
  delivery.working(consumer, frame.seqs, frame.traceparent);
}

/** Answers when the settlements are durable, if the frame asked for an answer. */
function answerWhenDurable(requestId: string | undefined, acked: AckResult, delivery: Delivery): Outcome {
  if (requestId === undefined) return undefined;
  const answer = { type: 'ack_result', request_id: requestId, ...acked } as const;
  return { later: delivery.flushed().then(() => ({ answer })) };
}
