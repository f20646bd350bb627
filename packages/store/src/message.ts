/** A message on its way into an inbox. Times are epoch milliseconds of the broker's clock. */
export interface NewMessage {
  /** Address of the inbox, `agent` or `agent#sub`. */
  inbox: string;
  /** The sender's id for it, in ASCII; unique per (inbox, sender) within the dedupe window. */
  id: string;
  /** The sender's agent id. */
  sender: string;
  senderAddress: string;
  senderRole: string;
  kind: string;
  correlationId?: string | undefined;
  traceparent?: string | undefined;
  createdAt: number;
  expiresAt: number;
  /** Opaque text; what comes out is what went in. */
  body?: string | undefined;
  /** A message acked in the same commit that stores this one (also when this one is a repeat). */
  settles?: { inbox: string; seq: number } | undefined;
  /** The token it was sent with, where `InboxStore.sentWith` shall find it. */
  tokenId?: string | undefined;
}

/** How a message ended. */
export type Outcome = 'acked' | 'expired' | 'cancelled' | 'dead';

/** A message that is not settled yet. `size` counts the bytes of its body. */
export interface StoredMessage extends Omit<NewMessage, 'settles' | 'tokenId'> {
  seq: number;
  /** How often a consumer tried it and failed; 0 at first. */
  attempts: number;
  size: number;
}

/** A stored message without its body. */
export type StoredMetadata = Omit<StoredMessage, 'body'>;
