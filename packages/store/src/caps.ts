/** A number of messages, and the bytes of their bodies. */
export interface Amount {
  messages: number;
  bytes: number;
}

/** What one sender may have stored: in all inboxes together, and for one recipient agent with all its sub-inboxes. */
export interface SenderCaps {
  /** Pending messages and dead letters. */
  readonly sender: Readonly<Amount>;
  /** Pending messages. */
  readonly senderToRecipient: Readonly<Amount>;
}

/**
 * Hard caps, checked in the storing commit; a cap that is not given does not bound anything. Of each, `store.reservePercent` is kept
 * for messages without a quota.
 */
export interface StoreCaps {
  /** Pending messages of one inbox. */
  readonly inbox: Readonly<Amount>;
  /** Pending messages and dead letters of one recipient agent with all its sub-inboxes. */
  readonly recipient: Readonly<Amount>;
  /** The same for an agent that `isPrivileged` knows, which is asked only about a message that exceeds `recipient`. */
  readonly privilegedRecipient: Readonly<Amount>;
  /** `bytes` bounds `InboxStore.usage`, which may be estimated between two measurements. */
  readonly store: { readonly bytes: number; readonly reservePercent: number };
}

/** Some of the caps. */
export type GivenCaps = { readonly [Group in keyof StoreCaps]?: Partial<StoreCaps[Group]> };

/** The caps of inboxes and recipients for one kind of message: with the reserve, or without it. */
export type ReceivingCaps = Pick<StoreCaps, 'inbox' | 'recipient' | 'privilegedRecipient'>;

/** The cap that a message would exceed, by the group and the name of it in {@link SenderCaps} or {@link StoreCaps}. */
export interface Excess {
  of: 'sender' | 'senderToRecipient' | 'recipient' | 'privilegedRecipient';
  unit: keyof Amount;
  /** True if there is room for the message, and the room is kept for senders who hold less of it. */
  isKept?: boolean;
}

/** Adds to given caps those that bound nothing. */
export function capsOf({ inbox, recipient, privilegedRecipient, store }: GivenCaps = {}): StoreCaps {
  const none = Number.POSITIVE_INFINITY;
  return {
    inbox: { messages: none, bytes: none, ...inbox },
    recipient: { messages: none, bytes: none, ...recipient },
    privilegedRecipient: { messages: none, bytes: none, ...privilegedRecipient },
    store: { bytes: none, reservePercent: 0, ...store },
  };
}

/** Returns the part of a cap that messages with a quota may use. A cap of a few messages has no reserve. */
export function withoutReserve(cap: number, reservePercent: number): number {
  // A part of infinity would leave nothing.
  return Number.isFinite(cap) ? cap - Math.floor((cap * reservePercent) / 100) : cap;
}

/** Returns the caps that hold for messages with a quota. */
export function ordinaryCaps({ inbox, recipient, privilegedRecipient, store }: StoreCaps): ReceivingCaps {
  const part = ({ messages, bytes }: Amount): Amount => ({
    messages: withoutReserve(messages, store.reservePercent),
    bytes: withoutReserve(bytes, store.reservePercent),
  });
  return {
    inbox: part(inbox),
    recipient: part(recipient),
    privilegedRecipient: part(privilegedRecipient),
  };
}

const nothing: Readonly<Amount> = { messages: 0, bytes: 0 };

/** Tells in which unit a message of `size` bytes does not fit into a cap. `undefined`: it fits. */
export function unitExceeded(
  stored: Readonly<Amount> | undefined,
  size: number,
  cap: Readonly<Amount>,
): keyof Amount | undefined {
  const { messages, bytes } = stored ?? nothing;
  if (messages >= cap.messages) return 'messages';
  return bytes + size > cap.bytes ? 'bytes' : undefined;
}

/**
 * Returns the cap `of` a recipient that a message of `size` bytes would exceed, if any. `received` is all that counts against the cap, and
 * `own` is what the sender has of it; without `own`, the message does not count against its sender. A sender that has something there may
 * hold at most as much as it leaves to all others. So `n` senders that take what they get leave one part of `n + 1`, and another sender
 * finds room.
 */
export function receivingExcess(
  of: 'recipient' | 'privilegedRecipient',
  cap: Readonly<Amount>,
  received: Readonly<Amount> | undefined,
  own: Readonly<Amount> | undefined,
  size: number,
): Excess | undefined {
  const unit = unitExceeded(received, size, cap);
  if (unit) return { of, unit };
  if (!own?.messages || !received) return undefined;
  const left = { messages: cap.messages - received.messages, bytes: cap.bytes - received.bytes };
  const kept = unitExceeded(own, size, left);
  return kept && { of, unit: kept, isKept: true };
}
