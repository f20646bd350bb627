import type { SenderCaps } from './caps.ts';

/** The fields of a message that only messages to groups have. */
export interface GroupFields {
  /** Messages of a group with the same key are handed out one after the other. The store keeps the key and does nothing with it. */
  readonly key?: string;
  /** The group to whose members it was sent: the message is the copy of one of them. */
  readonly copyOf?: string;
  /** The result of a message to all members. The group's inbox keeps it under the id of the message, so that a repeat is recognised. */
  readonly sent?: SentToAll;
}

/** The members for which a message was stored, and those for which it was not, each with the reason. */
export interface SentToAll {
  readonly members: number;
  readonly refused: readonly { readonly agent: string; readonly code: string }[];
}

/** A scheduled message that is due, as `ScheduledMessages.due` returns it. */
export interface Release {
  readonly number: number;
  /** The bytes of its original body. */
  readonly size: number;
  /** True if it counts against its sender. */
  readonly isCounted: boolean;
}

/** A message that is to be stored. Times are epoch milliseconds of the broker's clock. */
export interface NewMessage {
  /** Address of the inbox: `agent`, `agent#sub`, or a group. */
  inbox: string;
  /** The id that its sender gave it, in ASCII. It is unique among the messages of one sender in one inbox within the dedupe window. */
  id: string;
  /** The sender's agent id. */
  sender: string;
  senderAddress: string;
  senderRole: string;
  kind: string;
  correlationId?: string | undefined;
  traceparent?: string | undefined;
  /**
   * The thread that its sender chose, or that of the message that it answers. Absent: the thread is its `correlationId`, or else its `id`.
   * A final reply has the thread of its request instead.
   */
  thread?: string | undefined;
  createdAt: number;
  expiresAt: number;
  /** Opaque text, which is returned unchanged. */
  body?: string | undefined;
  /** A message that is acked in the commit that stores this one, also if this one is a repeat. */
  settles?: { inbox: string; seq: number } | undefined;
  /** The token with which it was sent, if `InboxStore.sentWith` is to find it. */
  tokenId?: string | undefined;
  /** Makes the message a request. Until this time, and while it is pending, a reply to it is stored: only the first one. */
  openUntil?: number | undefined;
  /**
   * Makes the message the final reply to a request. The request has the id `correlationId` and was sent by this agent. It came to an inbox
   * of the replier (`senderAddress` or `sender`), or the replier took it from one of `answersIn`. The reply is stored only while the
   * request is open.
   */
  answers?: string | undefined;
  /** The inboxes of groups from which the replier may have taken the request, besides its own inboxes. */
  answersIn?: readonly string[] | undefined;
  /** The inbox to which the request came, in place of those of the replier. The commit that stores the reply acks the request there. */
  asked?: string | undefined;
  /**
   * Sends the message to these agents instead: each gets a copy in its own inbox. If one of them can't be given it, no agent gets it; with
   * `partial` the others do. The inbox of the message is that of the group, where no message waits.
   */
  copies?: { readonly agents: readonly string[]; readonly partial: boolean } | undefined;
  /** Its fields as a message to a group. */
  group?: GroupFields | undefined;
  /**
   * Schedules the message; the value is the time when it was sent. It waits until its time of creation, which is later, and is then
   * released. A scheduled message settles and answers nothing.
   */
  scheduledAt?: number | undefined;
  /** Releases this scheduled message into its inbox, with the content given here. The answer is `gone` if it was cancelled. */
  release?: Release | undefined;
  /**
   * The caps on the stored messages of its sender. Without it the message does not count against its sender, and may use the reserves of
   * the store, of its inbox and of its recipient.
   */
  quota?: SenderCaps | undefined;
}

/** The way in which a message was settled. */
export type Outcome = 'acked' | 'expired' | 'cancelled' | 'dead';

/** A pending message: one that is not settled. `size` counts the bytes of its body. */
export interface StoredMessage
  extends Omit<
    NewMessage,
    'settles' | 'tokenId' | 'answers' | 'answersIn' | 'asked' | 'copies' | 'quota' | 'scheduledAt' | 'release'
  > {
  seq: number;
  /** The number of times that a consumer tried it and failed. */
  attempts: number;
  /** True for a request whose reply is stored while the request is pending. */
  answered?: true | undefined;
  /** True for a request that its sender cancelled while a broker had it. It must not be given to a consumer. */
  cancelled?: true | undefined;
  size: number;
  /** True if the disk has damaged the body, so that the message has none and can't be handled. */
  damaged?: true | undefined;
}

/** A pending message without its body. */
export type StoredMetadata = Omit<StoredMessage, 'body'>;
