import type { Message, SignalboxError } from '@signalbox/protocol';
import type { MessageSink } from './message-router.ts';

type Next = IteratorResult<Message, undefined>;
const ended: Next = { done: true, value: undefined };

/** The messages of one subscription. The router pushes them, the owner iterates over them; the broker's window bounds the queue. */
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
