import { attestedText, type InboxMessage } from './attested-text.ts';
import type { HeldMessage } from './held-messages.ts';

/** How much one read returns. A message that is larger than `bytes` comes alone. */
export interface PageLimits {
  messages: number;
  /** The total size of their bodies, as they were sent. */
  bytes: number;
}

/** Returns the first messages that fit, at least one. */
export function pageOf(waiting: readonly HeldMessage[], limits: PageLimits): HeldMessage[] {
  let bytes = 0;
  const end = waiting.findIndex(({ message: { body = '' } }, at) => {
    bytes += Buffer.byteLength(body);
    return at > 0 && (at >= limits.messages || bytes > limits.bytes);
  });
  return waiting.slice(0, end < 0 ? waiting.length : end);
}

/** Turns a held message into the form that the agent gets. `now` is monotonic, `wallNow` in epoch milliseconds. */
export function inboxMessage(held: HeldMessage, now: number, wallNow: number): InboxMessage {
  const { message, json, offeredBy, receivedAt } = held;
  const { id, from, kind, created_at, attempt = 1, correlation_id, remaining_ms } = message;
  const expiresInMs = remaining_ms === undefined ? undefined : receivedAt + remaining_ms - now;
  return {
    id,
    from: from.agent,
    from_address: from.address,
    from_role: from.role,
    kind,
    age_seconds: Math.max(0, Math.round((wallNow - created_at) / 1000)),
    attempt,
    ...(expiresInMs !== undefined && { expires_in_seconds: Math.max(0, Math.round(expiresInMs / 1000)) }),
    ...(correlation_id !== undefined && { in_reply_to: correlation_id }),
    ...(offeredBy !== undefined && { offered_before: true as const }),
    body: json,
  };
}

/** Writes messages for a model, each under its header. */
export function pageText(messages: readonly InboxMessage[]): string {
  return messages
    .map((message, at) => attestedText(message, `message ${at + 1} of ${messages.length}`))
    .join('\n');
}
