import type { Message } from '@signalbox/protocol';
import type { Log } from '../broker-client.ts';
import type { Clock } from '../clock.ts';
import type { Deadline, DeadlineTable } from '../requests/deadline-table.ts';
import type { Outbox } from '../socket/outbox.ts';

/** The time for which a reply waits for its request, in milliseconds: requests are repeated as soon as their client is connected. */
const keptMs = 30_000;

/** The reason of a message that matches nothing at an address which exists for answers. */
export const unmatchedReason = 'nobody waits for it at this address';

export interface EarlyRepliesDeps {
  outbox: Outbox;
  deadlines: DeadlineTable;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

/**
 * The replies to requests of an earlier holder of the address, which this client has not repeated yet. The broker's window bounds
 * them. A reply that nobody asks for is given back for good.
 */
export class EarlyReplies {
  readonly #deps: EarlyRepliesDeps;
  /** Replies by the id of their request. */
  readonly #replies = new Map<string, { message: Message; deadline: Deadline }>();

  constructor(deps: EarlyRepliesDeps) {
    this.#deps = deps;
  }

  /** Keeps a message if it belongs to a request. */
  keep(message: Message): boolean {
    const { correlation_id: id, seq } = message;
    if (id === undefined || seq === undefined || this.#replies.has(id)) return false;
    const { deadlines, clock, outbox, log } = this.#deps;
    const deadline = deadlines.add(clock.now() + keptMs, () => {
      this.#replies.delete(id);
      log({ event: 'reply_not_wanted', id: message.id, kind: message.kind, seq });
      outbox.control({ type: 'nack', seqs: [seq], dead: true, reason: unmatchedReason });
    });
    this.#replies.set(id, { message, deadline });
    return true;
  }

  /** Returns the message that belongs to a request, and forgets it. */
  take(requestId: string): Message | undefined {
    const kept = this.#replies.get(requestId);
    if (kept === undefined) return undefined;
    this.#replies.delete(requestId);
    this.#deps.deadlines.cancel(kept.deadline);
    return kept.message;
  }

  /** Forgets all replies: they are delivered again with the next lease. */
  clear(): void {
    for (const { deadline } of this.#replies.values()) this.#deps.deadlines.cancel(deadline);
    this.#replies.clear();
  }
}
