import type { BrokerFrame, MessageFrame } from '@signalbox/protocol';

/** A consumer of an inbox's messages: the part of a connection that the core needs. */
export interface Consumer {
  /** False while the other side reads too slowly. Nothing is pushed then, until `Subscriptions.resume` is called. */
  readonly writable: boolean;
  /** Pushes a stored message. */
  push(frame: MessageFrame, body: string | undefined): void;
  /** Pushes a message that is not stored. Returns false if it was dropped because too many messages wait already. */
  pushEphemeral(frame: MessageFrame, body: string | undefined): boolean;
  /** Sends a frame ahead of the waiting messages. */
  send(
    frame: Extract<
      BrokerFrame,
      { type: 'cancel' | 'lease_lost' | 'holds' | 'rights_changed' | 'lane' | 'lanes' }
    >,
  ): void;
}
