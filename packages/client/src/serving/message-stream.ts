import type { Message, SignalboxError, SubscribedFrame } from '@signalbox/protocol';
import type { MessageSink } from './message-router.ts';

/**
 * The un-acked messages of the client's own inbox that no waiter and no serve loop takes, in order. Ack them by `seq`
 * with `client.ack`. After a reconnect the un-acked ones are offered again. Ends when it is disposed or the client is
 * closed by its owner; throws the reason if the client is closed for another.
 */
export interface Subscription extends AsyncDisposable {
  readonly subscribed: SubscribedFrame;
  readonly messages: AsyncIterableIterator<Message>;
}

type Next = IteratorResult<Message, undefined>;
const ended: Next = { done: true, value: undefined };

/** A queue between the router, which pushes, and one reader, who pulls. The broker's window bounds it. */
export class MessageStream implements MessageSink, AsyncIterableIterator<Message> {
  readonly #onEnd: () => void;
  #queue: Message[] = [];
  #readers: PromiseWithResolvers<Next>[] = [];
  #end: { reason: SignalboxError | undefined } | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(message: Message): void {
    if (this.#end !== undefined) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#queue.push(message);
    else reader.resolve({ done: false, value: message });
  }

  leaseLost(): void {
    this.#queue = [];
  }

  end(reason: SignalboxError | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = { reason };
    this.#queue = [];
    for (const reader of this.#readers.splice(0)) {
      if (reason === undefined) reader.resolve(ended);
      else reader.reject(reason);
    }
    this.#onEnd();
  }

  next(): Promise<Next> {
    const value = this.#queue.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#end?.reason !== undefined) return Promise.reject(this.#end.reason);
    if (this.#end !== undefined) return Promise.resolve(ended);
    const reader = Promise.withResolvers<Next>();
    this.#readers.push(reader);
    return reader.promise;
  }

  return(): Promise<Next> {
    this.end(undefined);
    return Promise.resolve(ended);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
