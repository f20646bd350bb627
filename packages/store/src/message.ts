import type { SenderCaps } from './caps.ts';

/** The fields of a message that only messages to groups have. */
export interface GroupFields {
  /** Messages of a group with the same key are handed out one after the other. The store keeps it and does nothing with it. */
  readonly key?: string;
  /** The group to whose members it was sent: the message is the copy of one of them. */
  readonly copyOf?: string;
  /** What became of a message to all members. The group's inbox keeps it under the id of the message, so that a repeat is recognised. */
  readonly sent?: SentToAll;
}

/** The members for which a message was stored, and those for which it was not, with the reason. */
export interface SentToAll {
  readonly members: number;
  readonly refused: readonly { readonly agent: string; readonly code: string }[];
}

/** A scheduled message that is due, as `ScheduledMessages.due` tells it. */
export interface Release {
  readonly number: number;
  /** Bytes of the body that it was stored with. */
  readonly size: number;
  /** Whether it counts against its sender. */
  readonly isCounted: boolean;
}

/** A message that is to be stored. Times are epoch milliseconds of the broker's clock. */
export interface NewMessage {
  /** Address of the inbox: `agent`, `agent#sub`, or a group. */
  inbox: string;
  /** The id that its sender gave it, in ASCII. Of one sender in one inbox it is unique within the dedupe window. */
  id: string;
  /** The sender's agent id. */
  sender: string;
  senderAddress: string;
  senderRole: string;
  kind: string;
  correlationId?: string | undefined;
  traceparent?: string | undefined;
  /**
   * The thread that its sender chose, or that of the message that it answers. Absent: its `correlationId`, else its `id`. A final reply
   * gets that of its request, whatever stands here.
   */
  thread?: string | undefined;
  createdAt: number;
  expiresAt: number;
  /** Opaque text, which is returned unchanged. */
  body?: string | undefined;
  /** A message that is acked in the commit that stores this one, also if this one is a repeat. */
  settles?: { inbox: string; seq: number } | undefined;
  /** The token that it was sent with, if `InboxStore.sentWith` is to find it. */
  tokenId?: string | undefined;
  /** Makes the message a request. Until this time, or as long as it is pending, a reply to it is stored: the first one only. */
  openUntil?: number | undefined;
  /**
   * Makes the message the final reply to a request, which has the id `correlationId`, was sent by this agent, and came to an inbox of
   * the replier: `senderAddress` or `sender`, or was taken by it from one of `answersIn`. The reply is stored only while that request
   * is open.
   */
  answers?: string | undefined;
  /** The inboxes of groups from which the replier may have taken the request, besides its own inboxes. */
  answersIn?: readonly string[] | undefined;
  /**
   * Sends the message to these agents instead: each gets a copy in its own inbox, or none does if one of them can't be given it. With
   * `partial` the others get theirs. The inbox of the message is that of the group, where no message waits.
   */
  copies?: { readonly agents: readonly string[]; readonly partial: boolean } | undefined;
  /** What it has as a message to a group. */
  group?: GroupFields | undefined;
  /**
   * Schedules the message, which was sent at this time: it waits for its time of creation, which is later, and then somebody releases it.
   * Such a message settles and answers nothing.
   */
  scheduledAt?: number | undefined;
  /** Releases this scheduled message: it comes into its inbox, as it is given here. It is told as `gone` if it was cancelled. */
  release?: Release | undefined;
  /**
   * The caps on what its sender has stored. Without it the message does not count against its sender, and it may use what is
   * reserved: in the store, in its inbox, and of what its recipient may have.
   */
  quota?: SenderCaps | undefined;
}

/** How a message was settled. */
export type Outcome = 'acked' | 'expired' | 'cancelled' | 'dead';

/** A pending message: one that is not settled. `size` counts the bytes of its body. */
export interface StoredMessage
  extends Omit<
    NewMessage,
    'settles' | 'tokenId' | 'answers' | 'answersIn' | 'copies' | 'quota' | 'scheduledAt' | 'release'
  > {
  seq: number;
  /** How often a consumer tried it and failed. */
  attempts: number;
  /** True for a request whose reply is stored, although it is pending. */
  answered?: true | undefined;
  /** True for a request that its sender has cancelled while some broker had it: it must not be given to a consumer. */
  cancelled?: true | undefined;
  size: number;
  /** True if the body was damaged on the disk, so that the message has none and can't be handled. */
  damaged?: true | undefined;
}

/** A pending message without its body. */
export type StoredMetadata = Omit<StoredMessage, 'body'>;
