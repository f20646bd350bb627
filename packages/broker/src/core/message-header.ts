import { frameDefaults, type Sender } from '@signalbox/protocol';
import type { NewMessage, StoredMetadata } from '@signalbox/store';

/** The header of a message in the form that the core keeps. Times are in epoch milliseconds. */
export interface MessageHeader {
  inbox: string;
  id: string;
  from: Sender;
  kind: string;
  correlationId: string | undefined;
  /** See `NewMessage.thread`. */
  thread: string | undefined;
  createdAt: number;
  expiresAt: number;
  /** The length of the body in bytes. */
  size: number;
  /** The group to whose members it was sent, if it is the copy for one of them. */
  copyOf?: string;
}

/** Makes the header of a message that was read from the store. */
export function headerOf(stored: StoredMetadata): MessageHeader {
  const { inbox, id, kind, correlationId, thread, createdAt, expiresAt, size } = stored;
  const from = { agent: stored.sender, address: stored.senderAddress, role: stored.senderRole };
  const header = { inbox, id, from, kind, correlationId, thread, createdAt, expiresAt, size };
  return stored.group?.copyOf === undefined ? header : { ...header, copyOf: stored.group.copyOf };
}

/** Makes the header of a message that was given to the store. */
export function headerOfNew(message: NewMessage): MessageHeader {
  const { inbox, id, kind, correlationId, thread, createdAt, expiresAt, body } = message;
  const from = { agent: message.sender, address: message.senderAddress, role: message.senderRole };
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  return { inbox, id, from, kind, correlationId, thread, createdAt, expiresAt, size };
}

const requestKinds = new Set(['ask', 'task', 'mcp_request']);

const answerKinds = new Set(['reply', 'mcp_reply', 'progress', 'undeliverable']);

/** Tells whether messages of this kind answer a request of their recipient. */
export function isAnswer(kind: string): boolean {
  return answerKinds.has(kind);
}

/** The time after the deadline of a request in which its reply is still stored, if the request was acked in time. In milliseconds. */
const answerGraceMs = 5 * 60_000;

/** Returns the lifetime of a message in milliseconds. It begins when the message is due. */
export function lifetimeOf({ ttlMs }: { ttlMs: number }, wantedMs: number = frameDefaults.ttlMs): number {
  return Math.min(wantedMs, ttlMs);
}

/** Returns the time until which a message of this kind can be answered, or `undefined` if it is no request. */
export function openUntil(kind: string, expiresAt: number): number | undefined {
  return isRequest(kind) ? expiresAt + answerGraceMs : undefined;
}

/** Tells whether messages of this kind are requests, whose senders wait for an answer. */
export function isRequest(kind: string): boolean {
  return requestKinds.has(kind);
}

const conversationKinds = new Set(['ask', 'mcp_request', 'reply', 'mcp_reply']);

/**
 * Tells whether messages of this kind are questions or answers. Their senders need no receipt: the sender of a question waits for the
 * answer, and that of an answer waits for nothing.
 */
export function isConversation(kind: string): boolean {
  return conversationKinds.has(kind);
}
