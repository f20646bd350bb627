import type { RequestKey } from './inbox-store.ts';
import type { LoggedMessage } from './logged-message.ts';

/** A request for which a reply came, and whether the reply can be stored. */
export interface FoundRequest {
  readonly seq: number;
  readonly inbox: string;
  readonly isOpen: boolean;
  readonly isPending: boolean;
  /** The thread of the request; `undefined` if it equals the request's id. */
  readonly thread: string | undefined;
  /** The message itself; `undefined` if it was forgotten and only a row describes it. */
  readonly message: LoggedMessage | undefined;
}

/** The note about a request that a store keeps when it forgets the message. */
export interface ForgottenRequest {
  readonly seq: number;
  readonly isOver: boolean;
  readonly openUntil: number;
  /** The agents that have taken it from the inbox of a group. */
  readonly takers: readonly string[];
  /** The thread of the request; `undefined` if it equals the request's id. */
  readonly thread: string | undefined;
}

/** The places in which a store looks for requests. */
export interface RequestSource {
  /** Returns a pending message. */
  get(inbox: string, seq: number): LoggedMessage | undefined;
  /** Returns the pending message with an id, or else the one that was settled last. */
  withId(id: string, inbox: string, sender: string): LoggedMessage | undefined;
  forgotten(requester: string, id: string, inbox: string): ForgottenRequest | undefined;
  /** Returns the agents that have taken a message from the inbox of a group. */
  takersOf(message: LoggedMessage): readonly string[];
  /** Tells whether a later answer to a settled request is noted elsewhere than in the message. */
  wasAnsweredLater(message: LoggedMessage): boolean;
}

/**
 * Finds the request that a reply names. `settles` is the message that the reply settles, which usually is that request. If the replier's
 * inboxes have several requests of this id, an open one is preferred.
 */
export function findRequest(
  source: RequestSource,
  key: RequestKey,
  settles: { inbox: string; seq: number } | undefined,
  now: () => number,
): FoundRequest | undefined {
  const held = settles && source.get(settles.inbox, settles.seq);
  if (held && held.id === key.id && held.shared.sender === key.requester && isRequest(held))
    return foundRequest(source, held, now);
  let over: FoundRequest | undefined;
  for (const inbox of inboxesOf(key)) {
    const found = requestAt(source, inbox, key, now);
    if (found?.isOpen) return found;
    over ??= found;
  }
  return over;
}

/** Returns the inboxes to which a request may have come. */
export function inboxesOf({ replierAddress, replier, groups }: RequestKey): Iterable<string> {
  return new Set([replierAddress, replier, ...(groups ?? [])]);
}

/** Tells whether the requester of a settled request has its reply, or was told that none will come. */
export function hasEnd({ answered, ending }: LoggedMessage): boolean {
  return answered || (ending !== undefined && ending.outcome !== 'acked');
}

function requestAt(
  source: RequestSource,
  inbox: string,
  { requester, id, replier, groups }: RequestKey,
  now: () => number,
): FoundRequest | undefined {
  const isShared = groups?.includes(inbox) ?? false;
  const message = source.withId(id, inbox, requester);
  if (message) {
    if (!isRequest(message) || (isShared && !source.takersOf(message).includes(replier))) return undefined;
    return foundRequest(source, message, now);
  }
  const row = source.forgotten(requester, id, inbox);
  if (!row || (isShared && !row.takers.includes(replier))) return undefined;
  const { seq, thread } = row;
  const isOpen = !row.isOver && row.openUntil > now();
  return { seq, inbox, isOpen, isPending: false, thread, message: undefined };
}

function foundRequest(source: RequestSource, message: LoggedMessage, now: () => number): FoundRequest {
  const { seq, shared, ending, thread } = message;
  const isPending = ending === undefined;
  const isOpen = isPending ? !message.answered : isSettledOpen(source, message, now);
  return { seq, inbox: shared.inbox, isOpen, isPending, thread, message };
}

function isSettledOpen(source: RequestSource, message: LoggedMessage, now: () => number): boolean {
  if (hasEnd(message) || (message.shared.openUntil ?? 0) <= now()) return false;
  return !source.wasAnsweredLater(message);
}

function isRequest({ shared }: LoggedMessage): boolean {
  return shared.openUntil !== undefined;
}
