import type { InboxStore } from './inbox-store.ts';
import type { StoredMessage, StoredMetadata } from './message.ts';
import type { PresencePort } from './presence-port.ts';

/** A message that goes to the holder of an inbox and is never stored. */
export interface LiveMessage {
  /** The header as JSON, as the sending broker wrote it. */
  header: string;
  body: string | undefined;
}

/**
 * How messages of a shared inbox with the same key are handed out. `in_order`: the sender chose the key. One message of a key is handed out
 * at a time, in their order; messages without a key are free. `by_member`: the key is the agent that sent the message. All messages of a
 * key go to one member while it lives, also several at a time.
 */
export type KeyMode = 'in_order' | 'by_member';

/** A request for messages of a shared inbox. */
export interface ClaimRequest {
  /** Only messages after this number are considered. */
  after: number;
  /** The most messages, and the most bytes of their bodies; a larger message comes alone. */
  limit: number;
  maxBytes: number;
  keys: KeyMode;
}

/** Messages of a shared inbox that this broker hands out, in order. */
export interface Claimed {
  messages: StoredMessage[];
  /** No other message up to this number may be handed out by this broker until `freed` says so. */
  upTo: number;
  /** True if there were no more messages. */
  isAll: boolean;
}

/** Called with the events of other brokers on which a broker must act. */
export interface ClusterListener {
  /** An inbox of this broker may have messages of which the broker was not told. */
  wake(inbox: string): void;
  /** Another broker has stored a message in an inbox of this broker, whose earlier messages have numbers up to `after`. */
  came(inbox: string, message: StoredMessage, after: number): void;
  /** Messages of a shared inbox may be claimed that could not be claimed before: the listed ones, or `any`. */
  freed(inbox: string, seqs: readonly number[] | 'any'): void;
  /** Another broker has taken an inbox. */
  lost(inbox: string): void;
  /** These requests, which this broker holds or has claimed, were cancelled. The call is repeated until they are settled. */
  cancelled(requests: readonly StoredMetadata[]): void;
  /** Another broker sends a message to the holder of an inbox. */
  told(inbox: string, message: LiveMessage): void;
}

/**
 * The brokers that serve one namespace on one store. Any of them stores messages for any inbox. One of them at a time holds an inbox: it
 * hands out the messages, and it settles them. Those of an inbox that no broker holds are settled by any broker.
 *
 * An inbox may be shared instead: several brokers have members that take its messages. Each broker claims messages before it hands them
 * out, and settles those that it has claimed. A claim lasts until the message is settled, or given back, or the broker is gone.
 *
 * The store keeps who holds and claims what, and refuses what another broker has lost: it leaves out settlements, attempts and takings of a
 * message that another living broker holds or has claimed, as if the message were settled already.
 */
export interface ClusterPort {
  /** True if there is never another broker. Then nothing happens of which this broker is not told. */
  readonly isAlone: boolean;
  /** True if this broker does the work that one broker does for all. It changes when another broker has died. */
  readonly keepsHouse: boolean;
  /** True if this broker could not reach the store for so long that others may have taken its inboxes. */
  readonly isCutOff: boolean;
  /** Knows the living brokers, and their callers. */
  readonly presence: PresencePort;
  /** Calls `listener` from now on. */
  listen(listener: ClusterListener): void;
  /**
   * Takes an inbox for this broker, even if another broker holds it. When it resolves, {@link read} reads the messages of the inbox, and
   * every earlier settlement has taken effect. Resolves with the highest number of a message that may have been handed out before. Rejects
   * as the store does.
   */
  take(inbox: string): Promise<number>;
  /** Shares an inbox with the other brokers that share it. A broker that held the inbox alone loses it. Rejects as the store does. */
  join(inbox: string): Promise<void>;
  /** Returns those of some inboxes that other living brokers hold. */
  leasedElsewhere(inboxes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Gives back an inbox that this broker holds or shares, and its claims there, after all earlier requests. */
  giveBack(inbox: string): void;
  /**
   * Sends a message to the broker that holds an inbox, if that is another broker; the message may be lost on the way. If several brokers
   * share the inbox, the message goes to the one whose member has the messages of `sender`, or else to any. Resolves with false if no other
   * broker holds the inbox, and returns false if there is no other broker.
   */
  tell(inbox: string, message: LiveMessage, sender: string): Promise<boolean> | false;
  /** Reads messages to be handed out, as `InboxStore.read` does. Resolves with none if this broker no longer holds the inbox. */
  read: InboxStore['read'];
  /**
   * Claims messages of a shared inbox that no other broker has claimed and whose keys are free. Resolves with none if the inbox is lost.
   */
  claim(inbox: string, request: ClaimRequest): Promise<Claimed>;
  /** Claims one message, which this broker may have claimed already. Resolves with `undefined` if it can't be claimed. */
  claimAgain(inbox: string, seq: number, keys: KeyMode): Promise<StoredMessage | undefined>;
  /**
   * Gives claimed messages back, so that other brokers may claim them. Those brokers are told if `isHandedOver`. `wasHandedOut`
   * says whether a member had them, and `keys` are senders whose messages no member has.
   */
  unclaim(
    inbox: string,
    seqs: readonly number[],
    how: { isHandedOver: boolean; wasHandedOut: boolean; keys: readonly string[] },
  ): Promise<void>;
}
