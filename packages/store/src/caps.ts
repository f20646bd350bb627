/** A number of messages, and the bytes of their bodies. */
export interface Amount {
  messages: number;
  bytes: number;
}

/** The caps on the stored messages of one sender: in all inboxes together, and for one recipient agent with all its sub-inboxes. */
export interface SenderCaps {
  /** Pending messages and dead letters. */
  readonly sender: Readonly<Amount>;
  /** Pending messages. */
  readonly senderToRecipient: Readonly<Amount>;
}

/**
 * Hard caps, which the storing commit checks. A cap that is not given does not apply. Of each cap, `store.reservePercent` is kept for
 * messages without a quota.
 */
export interface StoreCaps {
  /** Pending messages of one inbox. */
  readonly inbox: Readonly<Amount>;
  /** Pending messages and dead letters of one recipient agent with all its sub-inboxes. */
  readonly recipient: Readonly<Amount>;
  /** The same for an agent for which `isPrivileged` returns true. It is called only for a message that exceeds `recipient`. */
  readonly privilegedRecipient: Readonly<Amount>;
  /** `bytes` bounds `InboxStore.usage`, which may be estimated between two measurements. */
  readonly store: { readonly bytes: number; readonly reservePercent: number };
}

/** Some of the caps. */
export type GivenCaps = { readonly [Group in keyof StoreCaps]?: Partial<StoreCaps[Group]> };

/** The caps of inboxes and recipients for one kind of message: with the reserve, or without it. */
export type ReceivingCaps = Pick<StoreCaps, 'inbox' | 'recipient' | 'privilegedRecipient'>;

/** The cap that a message would exceed, by its group and its name in {@link SenderCaps} or {@link StoreCaps}. */
export interface Excess {
  of: 'sender' | 'senderToRecipient' | 'recipient' | 'privilegedRecipient';
  unit: keyof Amount;
  /** True if there is room for the message, but the room is kept for senders who use less of it. */
  isKept?: boolean;
}

/** Completes given caps: the other caps have no bound. */
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
  // A percentage of infinity would leave nothing.
  return Number.isFinite(cap) ? cap - Math.floor((cap * reservePercent) / 100) : cap;
}

/** Returns the caps that apply to messages with a quota. */
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

/** Returns the unit in which a message of `size` bytes does not fit into a cap, or `undefined` if it fits. */
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
 * Returns the cap `of` a recipient that a message of `size` bytes would exceed, if there is one. `received` is everything that counts
 * against the cap, and `own` is the sender's part of it; without `own`, the message does not count against its sender. A sender that has
 * messages there may hold at most as much as it leaves to all others. So `n` greedy senders leave one part of `n + 1`, and another sender
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
