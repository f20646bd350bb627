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

/** Hard caps, checked in the storing commit; a cap that is not given does not bound anything. */
export interface StoreCaps {
  /** Pending messages of one inbox. */
  readonly inbox: Readonly<Amount>;
  /** Pending messages and dead letters of one recipient agent with all its sub-inboxes. */
  readonly recipient: Readonly<Amount>;
  /**
   * `bytes` bounds `InboxStore.usage`, which may be estimated between two measurements. Of it, `reservePercent` is kept for messages
   * without a quota.
   */
  readonly store: { readonly bytes: number; readonly reservePercent: number };
}

/** Some of the caps. */
export type GivenCaps = { readonly [Group in keyof StoreCaps]?: Partial<StoreCaps[Group]> };

/** The cap that a message would exceed, by the group and the name of it in {@link SenderCaps} or {@link StoreCaps}. */
export interface Excess {
  of: 'sender' | 'senderToRecipient' | 'recipient';
  unit: keyof Amount;
}

/** Adds to given caps those that bound nothing. */
export function capsOf({ inbox, recipient, store }: GivenCaps = {}): StoreCaps {
  const none = Number.POSITIVE_INFINITY;
  return {
    inbox: { messages: none, bytes: none, ...inbox },
    recipient: { messages: none, bytes: none, ...recipient },
    store: { bytes: none, reservePercent: 0, ...store },
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
