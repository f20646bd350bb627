import type { BrokerFrame, MessageFrame } from '@signalbox/protocol';

/** Takes the messages of an inbox: the part of a connection that the core needs. */
export interface Consumer {
  /** False while the other side reads too slowly: nothing is pushed until `Delivery.resume`. */
  readonly writable: boolean;
  push(frame: MessageFrame, body: string | undefined): void;
  /** Pushes a message that is stored nowhere. False if it was dropped, because too much waits already. */
  pushEphemeral(frame: MessageFrame, body: string | undefined): boolean;
  /** Sends a frame ahead of the messages that wait. */
  send(frame: Extract<BrokerFrame, { type: 'cancel' | 'lease_lost' }>): void;
}
