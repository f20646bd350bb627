import type { ServerResponse } from 'node:http';
import { type HttpRefusal, refusalMessage } from '../sdk/http-refusal.ts';
import type { EventsTaken, HttpReply, ReplyHead, RequestId } from '../sdk/http-reply.ts';

type Headers = Readonly<Record<string, string>>;

/** The longest silence of a stream of events, in milliseconds. */
const keepAliveMs = 15_000;
/** The most events that wait for a client that does not read; further ones are dropped. */
const maxWaiting = 256;
const keepAlive = ': keepalive\n\n';
/** The time in milliseconds after which a client whose stream broke comes back. Common ones try twice; a face is started again meanwhile. */
const retryMs = 3_000;
const streamHeaders: Headers = {
  'cache-control': 'no-cache, no-transform',
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
};

export interface ReplyOptions {
  events: EventsTaken;
  /** The time in milliseconds after which a client that reads nothing is disconnected. */
  stallMs: number;
}

/** Writes the answer to one HTTP request, no faster than the client reads. */
export class WrittenReply implements HttpReply {
  readonly takesEvents: boolean;
  isClosed = false;
  onHangUp: (() => void) | undefined;
  onStream: (() => string | undefined) | undefined;
  /** Called when the answer has left or the client has hung up, and nothing keeps its slot. */
  onClosed: (() => void) | undefined;
  /** Called with the number of bytes that have begun to wait for the client; negative when they have left. */
  onWaiting: ((bytes: number) => void) | undefined;
  readonly #to: ServerResponse;
  readonly #options: ReplyOptions;
  /** The part of the answer that was sent: nothing, the beginning of a stream, or everything. */
  #sent: 'nothing' | 'stream' | 'all' = 'nothing';
  /** The parts to write when the client has read those that wait for it; `undefined` while none wait. */
  #waiting: (string | Uint8Array)[] | undefined;
  /** Called when the client has read everything, or has hung up. */
  #onRead: (() => void) | undefined;
  /** Opens the stream after a silence; then it keeps the stream open. */
  #timer: NodeJS.Timeout | undefined;
  #isKept = false;

  constructor(to: ServerResponse, options: ReplyOptions) {
    this.takesEvents = options.events !== 'none';
    this.#to = to;
    this.#options = options;
    to.on('close', () => this.#closed());
  }

  /** Opens the stream if nothing is sent for `silenceMs`, to show that the request is being served. */
  openAfter(silenceMs: number): void {
    if (!this.takesEvents || this.#sent !== 'nothing') return;
    this.#timer = setTimeout(() => {
      this.openStream();
      this.#write(keepAlive);
    }, silenceMs);
    this.#timer.unref();
  }

  json(message: unknown, { status = 200, headers, eventId }: ReplyHead = {}): void {
    this.#whole(status, JSON.stringify(message), headers, eventId);
  }

  refuse(refusal: HttpRefusal, id?: RequestId | null): void {
    this.#whole(refusal.status, JSON.stringify(refusalMessage(refusal, id)), refusal.headers);
  }

  end(status = 202): void {
    if (this.#sent === 'stream') this.#endStream();
    else this.#piece(status, { 'content-length': '0' }, '');
  }

  openStream(): void {
    if (this.takesEvents) this.#begin(200, streamHeaders);
  }

  keepSlot(): () => void {
    this.#isKept = true;
    return () => {
      this.#isKept = false;
      if (this.isClosed) this.onClosed?.();
    };
  }

  tell(message: unknown, eventId?: string): boolean {
    if (!this.takesEvents) return false;
    this.openStream();
    const isFull = this.#waiting !== undefined && this.#waiting.length >= maxWaiting;
    if (this.#sent !== 'stream' || this.isClosed || isFull) return false;
    this.#write(eventOf(JSON.stringify(message), eventId));
    return true;
  }

  async pass(response: Response): Promise<void> {
    const { status, body } = response;
    const headers = Object.fromEntries(response.headers);
    try {
      if (body && headers['content-type']?.startsWith('text/event-stream')) {
        this.#begin(status, headers);
        // The stream has its own signs of life.
        this.#stopTimer();
        await this.#pump(body.getReader());
      } else {
        this.#whole(status, await response.text(), headers);
      }
    } catch {
      // The response broke off: only its end can tell the client.
      this.end();
    }
  }

  /** Sends an answer in one piece of JSON, or, in an open stream, as the last event. */
  #whole(status: number, text: string, headers?: Headers, eventId?: string): void {
    if (this.#sent === 'stream') {
      if (text !== '') this.#write(eventOf(text, eventId));
      this.#endStream();
      return;
    }
    const isEvent = this.#options.events === 'only' && status === 200 && text !== '';
    const sent = isEvent ? eventOf(text) : text;
    const type = isEvent ? streamHeaders : text !== '' && { 'content-type': 'application/json' };
    this.#piece(status, { ...headers, ...type, 'content-length': String(Buffer.byteLength(sent)) }, sent);
  }

  #piece(status: number, headers: Headers, text: string): void {
    if (this.#sent !== 'nothing' || this.isClosed) return;
    this.#sent = 'all';
    this.#stopTimer();
    const to = this.#to;
    to.writeHead(status, headers);
    to.end(text);
    // Most answers have left by now: the socket took them.
    if (to.socket?.writableLength === 0) return;
    this.onWaiting?.(Number(headers['content-length']));
    to.setTimeout(this.#options.stallMs);
  }

  #begin(status: number, headers: Headers): void {
    if (this.#sent !== 'nothing' || this.isClosed) return;
    this.#sent = 'stream';
    this.#stopTimer();
    this.#to.writeHead(status, headers);
    this.#to.flushHeaders();
    this.#timer = setInterval(() => {
      if (!this.#waiting) this.#write(keepAlive);
    }, keepAliveMs);
    this.#timer.unref();
    const first = this.onStream?.();
    if (first !== undefined) this.#write(`id: ${first}\nretry: ${retryMs}\ndata: \n\n`);
  }

  #write(part: string | Uint8Array): void {
    if (this.isClosed) return;
    if (this.#waiting) this.#waiting.push(part);
    else if (!this.#to.write(part)) this.#stall(Buffer.byteLength(part));
  }

  /** Holds further parts back until the client has read what was written. */
  #stall(bytes: number): void {
    this.#waiting = [];
    this.onWaiting?.(bytes);
    this.#to.setTimeout(this.#options.stallMs);
    this.#to.once('drain', () => {
      // Between two events a stream may be silent for long.
      this.#to.setTimeout(0);
      this.onWaiting?.(-bytes);
      const waiting = this.#waiting ?? [];
      this.#waiting = undefined;
      for (const part of waiting) this.#write(part);
      if (this.#waiting) return;
      this.#onRead?.();
      if (this.#sent === 'all') this.#to.end();
    });
  }

  #endStream(): void {
    if (this.#sent !== 'stream') return;
    this.#sent = 'all';
    this.#stopTimer();
    if (!this.#waiting) this.#to.end();
  }

  /** Passes a stream of events on unchanged. */
  async #pump(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    this.#to.once('close', () => void reader.cancel().catch(() => {}));
    while (!this.isClosed) {
      const { done, value } = await reader.read();
      if (done) break;
      this.#write(value);
      while (this.#waiting && !this.isClosed) {
        await new Promise<void>((resolve) => {
          this.#onRead = resolve;
        });
      }
    }
    if (this.isClosed) await reader.cancel();
    this.#endStream();
  }

  #stopTimer(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#stopTimer();
    this.#waiting = undefined;
    this.#onRead?.();
    if (!this.#to.writableFinished) this.onHangUp?.();
    if (!this.#isKept) this.onClosed?.();
  }
}

function eventOf(text: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${text}\n\n`;
}
