import { randomBytes } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { type EventPlace, eventIdOf } from './event-id.ts';
import type { HttpReply } from './http-reply.ts';

interface Announcement {
  number: number;
  message: JSONRPCMessage;
  /** True if a stream took it, whose client may not have got it. */
  isTold: boolean;
}

/**
 * The messages of a session that belong to no request, and the stream for them. Each is kept once: of a list, or of a resource that the
 * client follows.
 */
export class Announcements {
  /** The name of the stream. A face that was started again has another one, and has announced nothing yet. */
  readonly #stream = `~${randomBytes(6).toString('base64url')}`;
  #reply: HttpReply | undefined;
  #hasIds = false;
  #count = 0;
  /** The newest announcement of each kind, in the order in which they came. */
  readonly #kept = new Map<string, Announcement>();

  /** True while a client listens. */
  get isListening(): boolean {
    return this.#reply !== undefined;
  }

  /** Sends a message to the client that listens, or keeps it for the next one. */
  tell(message: JSONRPCMessage): void {
    const key = JSON.stringify(message);
    const announcement = { number: ++this.#count, message, isTold: false };
    this.#kept.delete(key);
    this.#kept.set(key, announcement);
    this.#send(announcement);
    // A request is not sent again, and without ids nobody asks again.
    if (announcement.isTold && ('id' in message || !this.#hasIds)) this.#kept.delete(key);
  }

  /** Opens the stream in place of the previous one. The client first gets the events that it missed. */
  listen(reply: HttpReply, { hasIds, last }: { hasIds: boolean; last: EventPlace | undefined }): void {
    this.#reply?.end();
    this.#reply = reply;
    this.#hasIds = hasIds;
    reply.onHangUp = () => {
      if (this.#reply === reply) this.#reply = undefined;
    };
    const after = last?.stream === this.#stream ? last.number : undefined;
    const missed = [...this.#kept.values()].filter(({ number, isTold }) =>
      after === undefined ? !isTold : number > after,
    );
    if (hasIds) reply.onStream = () => this.#idOf(after ?? (missed[0]?.number ?? this.#count + 1) - 1);
    reply.openStream();
    for (const announcement of missed) this.#send(announcement);
    if (!hasIds) this.#kept.clear();
  }

  /** Ends the stream. */
  end(): void {
    this.#reply?.end();
  }

  #send(announcement: Announcement): void {
    const { number, message } = announcement;
    announcement.isTold = this.#reply?.tell(message, this.#hasIds ? this.#idOf(number) : undefined) ?? false;
  }

  #idOf(number: number): string {
    return eventIdOf({ stream: this.#stream, number });
  }
}
