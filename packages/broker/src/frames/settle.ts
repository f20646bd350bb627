import type { AckFrame, NackFrame, WorkingFrame } from '@signalbox/protocol';
import type { Consumer } from '../core/consumer.ts';
import type { AckResult, Delivery } from '../core/delivery.ts';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import type { Outcome } from './outcome.ts';

type Deps = Pick<FrameDeps, 'delivery'>;

/** Handles `ack`: settles messages that the caller has handled. */
export function ack(frame: AckFrame, { consumer }: Caller, { delivery }: Deps): Outcome {
  return answerWhenDurable(frame, delivery.ack(consumer, frame.seqs), { delivery, consumer });
}

/** Handles `nack`: gives back messages that the caller did not handle. */
export function nack(frame: NackFrame, { consumer }: Caller, { delivery }: Deps): Outcome {
  const acked = delivery.nack(consumer, frame.seqs, {
    delayMs: frame.delay_ms ?? 0,
    dead: frame.dead ?? false,
    counts: frame.counts ?? true,
    ...(frame.reason !== undefined && { reason: frame.reason }),
  });
  return answerWhenDurable(frame, acked, { delivery, consumer });
}

/** Handles `working`: notes that the caller works on messages. */
export function working(frame: WorkingFrame, { consumer }: Caller, { delivery }: Deps): undefined {
  delivery.working(consumer, frame.seqs, frame.traceparent);
}

/** Answers when the settlements are durable, if the frame requested an answer. They change nothing if the lease was lost before. */
function answerWhenDurable(
  { request_id, seqs }: Pick<AckFrame, 'request_id' | 'seqs'>,
  acked: AckResult,
  { delivery, consumer }: { delivery: Delivery; consumer: Consumer },
): Outcome {
  if (request_id === undefined) return undefined;
  const lease = delivery.leaseOf(consumer);
  const answer = (): Outcome => {
    const result = lease?.isLost ? { accepted: [], rejected: [...seqs] } : acked;
    return { answer: { type: 'ack_result', request_id, ...result } };
  };
  return { later: delivery.flushed().then(answer) };
}
