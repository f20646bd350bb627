import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { eventIdOf } from './event-id.ts';
import type { Exchange, HttpReply } from './http-reply.ts';

/** The most messages before an answer that are kept, and their bytes together. Older notifications are dropped first. */
const maxKept = { messages: 32, bytes: 32 * 1024 };

interface KeptEvent {
  number: number;
  message: JSONRPCMessage;
  bytes: number;
}

/**
 * The answer to one posted request, whose stream has begun. Its events have ids, so that a client whose connection broke can go on
 * reading after the last one that it got. Meanwhile the request goes on, and keeps its share of what its agent may have under way.
 */
export class ResumableAnswer implements Exchange {
  readonly stream: string;
  #reply: HttpReply | undefined;
  #giveBack: (() => void) | undefined;
  readonly #now: () => number;
  #events: KeptEvent[] = [];
  #count = 0;
  #isAnswered = false;
  /** The time since which no client reads; `undefined` while one does. */
  #leftAt: number | undefined;

  constructor(stream: string, reply: HttpReply, now: () => number) {
    this.stream = stream;
    this.#now = now;
    this.#giveBack = reply.keepSlot();
    this.#attach(reply);
  }

  get leftAt(): number | undefined {
    return this.#leftAt;
  }

  /** The bytes of what is kept. */
  get bytes(): number {
    return this.#events.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  tell(message: JSONRPCMessage): boolean {
    const number = this.#count + 1;
    if (this.#reply && !this.#reply.tell(message, this.#idOf(number))) return false;
    this.#keep(message);
    this.#trim();
    return true;
  }

  json(message: JSONRPCMessage): void {
    this.#keep(message);
    this.#isAnswered = true;
    this.#reply?.json(message, { eventId: this.#idOf(this.#count) });
    this.#free();
  }

  end(): void {
    this.#reply?.end();
    this.#free();
  }

  /** Sends what a client has not got after the event with this number, and what follows. */
  resume(reply: HttpReply, after: number): void {
    const missed = this.#events.filter(({ number }) => number > after);
    if (this.#isAnswered && missed.length === 0) {
      // Without a stream, a common client comes back no more.
      reply.end(204);
      return;
    }
    if (this.#reply) this.#reply.onHangUp = undefined;
    this.#reply?.end();
    this.#attach(reply);
    reply.onStream = () => this.#idOf(after);
    reply.openStream();
    for (const { number, message } of missed) reply.tell(message, this.#idOf(number));
    if (this.#isAnswered) reply.end();
  }

  #attach(reply: HttpReply): void {
    this.#reply = reply;
    this.#leftAt = undefined;
    reply.onHangUp = () => {
      if (this.#reply !== reply) return;
      this.#reply = undefined;
      this.#leftAt = this.#now();
    };
  }

  #keep(message: JSONRPCMessage): void {
    this.#events.push({ number: ++this.#count, message, bytes: JSON.stringify(message).length });
  }

  /** Drops the oldest notifications beyond the limits. A question of the server stays, because its call waits for the answer. */
  #trim(): void {
    while (this.#events.length > maxKept.messages || this.bytes > maxKept.bytes) {
      const at = this.#events.findIndex(({ message }) => !('id' in message));
      if (at === -1) return;
      this.#events.splice(at, 1);
    }
  }

  #free(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
  }

  #idOf(number: number): string {
    return eventIdOf({ stream: this.stream, number });
  }
}
