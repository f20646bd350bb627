import type { ServerResponse } from 'node:http';
import { beginAnswer } from '../http/answers.ts';

/** The most bytes that may wait for a page to read them. A slower page misses events. */
const maxWaitingBytes = 512 * 1024;
/** The time between two signs of life of a stream, in milliseconds. */
const aliveMs = 15_000;

/** A stream of server-sent events. Disposing it ends it. */
export class EventStream implements Disposable {
  readonly #response: ServerResponse;
  readonly #alive: NodeJS.Timeout;
  /** Aborted when the stream is over. */
  readonly ended: AbortSignal;

  constructor(response: ServerResponse) {
    const ended = new AbortController();
    this.#response = response;
    this.ended = ended.signal;
    beginAnswer(response, 200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.once('close', () => ended.abort());
    response.write(': open\n\n');
    this.#alive = setInterval(() => {
      // A page that does not even read this for two intervals is gone or frozen.
      if (response.writableLength > maxWaitingBytes) response.destroy();
      else response.write(': alive\n\n');
    }, aliveMs);
    this.#alive.unref();
  }

  /** Sends an event. Returns false if too many bytes wait for the page. */
  send(name: string, data: unknown, id?: string): boolean {
    if (this.#response.writableLength > maxWaitingBytes) return false;
    const head = id === undefined ? '' : `id: ${id}\n`;
    this.#response.write(`${head}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    return true;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive);
    this.#response.end();
  }
}
