/** Says which bodies a store keeps after their messages were settled, and for how long. */
export interface KeepBodies {
  /** The kinds of messages. */
  kinds: readonly string[];
  /** The longest time for which a body is kept, in milliseconds since its message was created. */
  ageMs: number;
  /** The bytes of bodies beyond which the oldest ones are forgotten. */
  bytes: number;
}

/** A message whose body is kept. A message to all members of a group is kept once, as a message to the group. */
export interface KeptBody {
  seq: number;
  /** The thread that the message belongs to: the one that it names, else its correlation id, else its id. */
  thread: string;
  id: string;
  correlationId?: string;
  sender: string;
  inbox: string;
  kind: string;
  createdAt: number;
  /** The bytes of its body. */
  size: number;
  body: string;
}

/** Selects threads. All conditions must hold for one and the same message of a thread. */
export interface ThreadsQuery {
  /** Only threads with messages that this agent sent, or that were sent to one of its inboxes. */
  agent?: string;
  /** Only threads with a message that holds, for each of these words, a word which begins with it. */
  words?: readonly string[];
  limit: number;
  /** The cursor of the page before. The other conditions must be those of that page. */
  cursor?: number;
}

/** A thread with the newest of its messages that was asked for. */
export interface KeptThread {
  newest: KeptBody;
  /** The number of its messages, at most {@link maxCounted}. */
  messages: number;
  /** The time of its first message that is kept, in epoch milliseconds. */
  since: number;
}

/** Threads, the one with the newest message first. There is a `cursor` if there may be more. */
export interface KeptThreadsPage {
  threads: KeptThread[];
  cursor?: number;
}

/** The number at which the messages of a thread are no longer counted. */
export const maxCounted = 1000;

/**
 * The bodies that a store keeps, with an index of their threads and words. A body is kept in the commit that stores its message, and becomes
 * part of the index later, by {@link KeptBodies.index}. All reads first bring the index up to the present. Methods reject as those of the
 * store.
 */
export interface KeptBodies {
  /** The setting; `undefined` if the store keeps no bodies. */
  readonly keeps: KeepBodies | undefined;
  /** Brings a small part of the bodies into the index, and forgets some that are too old or too many. Resolves with true if there are more. */
  index(now: number): Promise<boolean>;
  threads(query: ThreadsQuery): Promise<KeptThreadsPage>;
  /**
   * Reads the messages of a thread after `afterSeq`, in order: at most `limit` messages and `maxBytes` of bodies, but at least one message.
   */
  thread(thread: string, afterSeq: number, limit: number, maxBytes: number): Promise<KeptBody[]>;
  /** Reads the messages with these numbers, in any order. Those that are not kept are left out. */
  read(seqs: readonly number[]): Promise<KeptBody[]>;
  /** Forgets the bodies of a thread. A message of it that is pending is delivered with its body all the same. Resolves with their number. */
  forget(thread: string): Promise<number>;
}
