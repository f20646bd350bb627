import type { ServedReply } from '../broker-client.ts';

/** A reply as it was sent: its kind, its body as text, and the span of its sending. */
export type SentReply = Pick<ServedReply, 'kind'> & { text: string; traceparent?: string | undefined };

interface Kept {
  reply: SentReply;
  until: number;
}

/** The replies to one reader: an agent in one role. */
interface Replies {
  kept: Map<string, Kept>;
  length: number;
}

/** The time for which a reply is remembered, in milliseconds: a requester that has lost its lane asks again at once. */
const keptMs = 10 * 60_000;
/** The most replies to one reader, and characters of them. Beyond them its oldest ones are forgotten. */
const most = { replies: 256, length: 4 * 1024 * 1024 };
/** The number of replies after which those of all readers are looked through for old ones. */
const sweepEvery = 1_000;

/**
 * Remembers replies that were sent on lanes until they are acked, and for a while after the loss of a lane, so that a request that comes again
 * gets its reply without another run. Without an entry a request is handled anew, which the journal makes safe.
 */
export class UnreadReplies {
  readonly #readers = new Map<string, Replies>();
  readonly #now: () => number;
  #sinceSweep = 0;

  /** `now` is in monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Remembers the reply to a request. */
  add(reader: string, id: string, reply: SentReply): void {
    if (++this.#sinceSweep >= sweepEvery) this.#sweep();
    this.take(reader, id);
    let own = this.#readers.get(reader);
    if (!own) {
      own = { kept: new Map(), length: 0 };
      this.#readers.set(reader, own);
    }
    own.kept.set(id, { reply, until: this.#now() + keptMs });
    own.length += reply.text.length;
    for (const oldest of own.kept.keys()) {
      if (own.kept.size <= most.replies && own.length <= most.length) break;
      this.take(reader, oldest);
    }
  }

  /** Forgets the reply to a request, and returns it if it was there. */
  take(reader: string, id: string): SentReply | undefined {
    const own = this.#readers.get(reader);
    const found = own?.kept.get(id);
    if (!own || !found) return undefined;
    own.kept.delete(id);
    own.length -= found.reply.text.length;
    if (own.kept.size === 0) this.#readers.delete(reader);
    return found.until < this.#now() ? undefined : found.reply;
  }

  #sweep(): void {
    this.#sinceSweep = 0;
    const now = this.#now();
    for (const [reader, { kept }] of this.#readers) {
      for (const [id, { until }] of kept) if (until < now) this.take(reader, id);
    }
  }
}
