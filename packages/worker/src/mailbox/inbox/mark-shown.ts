import type { BrokerClient } from '@signalbox/client';
import type { Tracing } from '@signalbox/serving/tracing';
import { beginReceive } from '@signalbox/serving/tracing/internal';
import type { CheckedOutMessage } from './checked-out-messages.ts';

/** A read that returns messages to the agent. */
export interface ShowingRead {
  /** The number of the read. */
  read: number;
  /** Monotonic milliseconds. */
  now: number;
  /** Makes a span of each message that is read for the first time. */
  tracing: Tracing | undefined;
}

/** Marks messages as returned by a read, and tells the broker: losing them counts as an attempt from now on. */
export function markShown(
  client: Pick<BrokerClient, 'address' | 'working'>,
  messages: readonly CheckedOutMessage[],
  { read, now, tracing }: ShowingRead,
): void {
  for (const mail of messages) {
    if (tracing && mail.shownBy === undefined) traceRead(tracing, mail, client.address);
    mail.shownBy ??= read;
    mail.shownAt = now;
  }
  if (!tracing) client.working(messages.map(({ seq }) => seq));
  else for (const { seq, traceparent } of messages) client.working([seq], traceparent);
}

function traceRead(tracing: Tracing, mail: CheckedOutMessage, address: string): void {
  const span = beginReceive(tracing, mail.message, address, tracing.active());
  mail.traceparent = span.traceparent;
  span.end();
}
