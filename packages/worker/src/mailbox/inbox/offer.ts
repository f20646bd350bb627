import type { BrokerClient } from '@signalbox/client';
import type { Tracing } from '@signalbox/serving/tracing';
import { beginReceive } from '@signalbox/serving/tracing/internal';
import type { HeldMessage } from './held-messages.ts';

/** A read that returns messages to the agent. */
export interface Offer {
  /** The number of the read. */
  read: number;
  /** Monotonic milliseconds. */
  now: number;
  /** Makes a span of each message that is read for the first time. */
  tracing: Tracing | undefined;
}

/** Marks messages as returned by a read, and tells the broker: losing them counts as an attempt from now on. */
export function markOffered(
  client: Pick<BrokerClient, 'address' | 'working'>,
  messages: readonly HeldMessage[],
  { read, now, tracing }: Offer,
): void {
  for (const held of messages) {
    if (tracing && held.offeredBy === undefined) traceRead(tracing, held, client.address);
    held.offeredBy ??= read;
    held.offeredAt = now;
  }
  if (!tracing) client.working(messages.map(({ seq }) => seq));
  else for (const { seq, traceparent } of messages) client.working([seq], traceparent);
}

function traceRead(tracing: Tracing, held: HeldMessage, address: string): void {
  const span = beginReceive(tracing, held.message, address, tracing.active());
  held.traceparent = span.traceparent;
  span.end();
}
