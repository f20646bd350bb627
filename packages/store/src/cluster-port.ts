import type { InboxStore } from './inbox-store.ts';
import type { StoredMessage, StoredMetadata } from './message.ts';
import type { PresencePort } from './presence-port.ts';

/** A message that is told to the holder of an inbox and never stored. */
export interface LiveMessage {
  /** JSON of the broker that sent it. */
  header: string;
  body: string | undefined;
}

/**
 * How the messages of a shared inbox are handed out that have the same key. `in_order`: the key is the one that the sender gave, and one message
 * of it is handed out at a time, in their order; messages without a key are free. `by_member`: the key is the agent that sent the message, and
 * all its messages go to one member as long as that lives, also several at a time.
 */
export type KeyMode = 'in_order' | 'by_member';

/** Asks for messages of a shared inbox. */
export interface ClaimRequest {
  /** Only messages after this number are looked at. */
  after: number;
  /** The most messages, and bytes of their bodies; a message that is larger comes alone. */
  limit: number;
  maxBytes: number;
  keys: KeyMode;
}

/** Messages of a shared inbox that this broker hands out, in order. */
export interface Claimed {
  messages: StoredMessage[];
  /** No other message up to this number is to be handed out by this broker before it is told so. */
  upTo: number;
  /** True if there were no more of them. */
  isAll: boolean;
}

/** The events of other brokers on which a broker has to act. */
export interface ClusterListener {
  /** There may be messages in an inbox of this broker that it was not told of. */
  wake(inbox: string): void;
  /** Messages of a shared inbox may be claimed that could not be before: these ones, or `any`. */
  freed(inbox: string, seqs: readonly number[] | 'any'): void;
  /** Another broker has taken an inbox. */
  lost(inbox: string): void;
  /**
   * These requests, which this broker holds or has claimed, were cancelled. It is told again until they are settled.
   */
  cancelled(requests: readonly StoredMetadata[]): void;
  /** Another broker tells the holder of an inbox something. */
  told(inbox: string, message: LiveMessage): void;
}

/**
 * The brokers that serve one namespace on one store. Any of them stores messages for any inbox. One of them at a time holds an inbox: it
 * hands out the messages, and it settles them. Those of an inbox that no broker holds are settled by any broker.
 *
 * An inbox may be shared instead: several brokers have members that take its messages. Each broker claims messages before it hands them out,
 * and settles those that it has claimed. A claim lasts until the message is settled, or given back, or the broker is gone.
 *
 * The store keeps who holds and claims what, and refuses what another broker has lost: it leaves out settlements, attempts and takings of a
 * message that another living broker holds or has claimed, as if the message were settled already.
 */
export interface ClusterPort {
  /** True if there never is another broker. Nothing has happened then that this one was not told of. */
  readonly isAlone: boolean;
  /** True if this broker does what one of them has to do for all. It changes when another one has died. */
  readonly keepsHouse: boolean;
  /** True if this broker has not heard of the store for so long that others may have taken its inboxes. */
  readonly isCutOff: boolean;
  /** Tells the living brokers, and who is connected to them. */
  readonly presence: PresencePort;
  /** Has `listener` called from now on. */
  listen(listener: ClusterListener): void;
  /**
   * Takes an inbox for this broker, also from another one. When it resolves, the messages of the inbox can be read with {@link read}, and all
   * that was settled before is settled. It resolves with the highest number of a message that may have been handed out before. Rejects as the
   * store does.
   */
  take(inbox: string): Promise<number>;
  /** Shares an inbox with the other brokers that do. One that held it for itself has lost it. Rejects as the store does. */
  join(inbox: string): Promise<void>;
  /** Tells which of some inboxes other living brokers hold. */
  heldElsewhere(inboxes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Gives an inbox back that this broker holds or shares, with what it has claimed, after all that was asked before. */
  giveBack(inbox: string): void;
  /**
   * Tells something to the broker that holds an inbox, if that is another one; it may be lost on the way. Of those that share one, it is told to
   * the one with the member that has the messages of `sender`, or else to any. Resolves with false if no other broker
   * holds the inbox, and returns false if there is no other broker.
   */
  tell(inbox: string, message: LiveMessage, sender: string): Promise<boolean> | false;
  /** Reads messages to be handed out, as `InboxStore.read` does. Resolves with none if this broker does not hold the inbox any more. */
  read: InboxStore['read'];
  /** Claims messages of a shared inbox that no other broker has claimed, and whose keys are free. Resolves with none if it is lost. */
  claim(inbox: string, request: ClaimRequest): Promise<Claimed>;
  /** Claims one message, which this broker may have claimed already. Resolves with `undefined` if it can't be claimed. */
  claimAgain(inbox: string, seq: number, keys: KeyMode): Promise<StoredMessage | undefined>;
  /**
   * Gives claimed messages back, so that other brokers may claim them. They are told if the messages are `offered`. `wasHandedOut` tells whether
   * a member had them, and `keys` are senders that no member has.
   */
  unclaim(
    inbox: string,
    seqs: readonly number[],
    how: { isOffered: boolean; wasHandedOut: boolean; keys: readonly string[] },
  ): Promise<void>;
}
