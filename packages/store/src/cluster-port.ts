import type { InboxStore } from './inbox-store.ts';
import type { PresencePort } from './presence-port.ts';

/** A message that is told to the holder of an inbox and never stored. */
export interface LiveMessage {
  /** JSON of the broker that sent it. */
  header: string;
  body: string | undefined;
}

/** What other brokers do that a broker has to act on. */
export interface ClusterListener {
  /** There may be messages in an inbox of this broker that it was not told of. */
  wake(inbox: string): void;
  /** Another broker has taken an inbox. */
  lost(inbox: string): void;
  /** Another broker tells the holder of an inbox something. */
  told(inbox: string, message: LiveMessage): void;
}

/**
 * The brokers that serve one namespace on one store. Any of them stores messages for any inbox. One of them at a time holds an inbox: it
 * hands out the messages, and it settles them. Those of an inbox that no broker holds are settled by any broker.
 *
 * The store keeps who holds what, and refuses what another broker has lost: it leaves out settlements, attempts and takings of an inbox that
 * another living broker holds, as if the message were settled already.
 */
export interface ClusterPort {
  /** True if there never is another broker. Nothing has happened then that this one was not told of. */
  readonly isAlone: boolean;
  /** True if this broker does what one of them has to do for all. It changes when another one has died. */
  readonly keepsHouse: boolean;
  /** What the brokers know of each other, and of who is connected to them. */
  readonly presence: PresencePort;
  /** Has `listener` called from now on. */
  listen(listener: ClusterListener): void;
  /**
   * Takes an inbox for this broker, also from another one. When it resolves, the messages of the inbox can be read with {@link read}, and all
   * that was settled before is settled. Rejects as the store does.
   */
  take(inbox: string): Promise<void>;
  /** Tells which of some inboxes other living brokers hold. */
  heldElsewhere(inboxes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Gives an inbox back, after all that was asked before. */
  giveBack(inbox: string): void;
  /**
   * Tells something to the broker that holds an inbox, if that is another one; it may be lost on the way. Resolves with false if no other broker
   * holds the inbox, and returns false if there is no other broker.
   */
  tell(inbox: string, message: LiveMessage): Promise<boolean> | false;
  /** Reads messages to be handed out, as `InboxStore.read` does. Resolves with none if this broker does not hold the inbox any more. */
  read: InboxStore['read'];
}
