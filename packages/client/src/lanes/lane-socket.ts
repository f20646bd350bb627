import type { Socket } from 'node:net';
import { encodeFrame, type LaneFrame, parseLaneFrame } from '@signalbox/protocol';

/** The end of each header line that a body line follows. */
const announcesBody = '"body":true}';

/** The options of a {@link LaneSocket}. */
export interface LaneSocketOptions {
  socket: Socket;
  /** The most characters of a header and its body; more end the lane. */
  maxLength: number;
  receive: (frame: LaneFrame, body: string | undefined) => void;
  /** Called when the other side has read what was sent, after it had not for a while. */
  drained?: () => void;
  /** Called once when nothing more can be sent or received. */
  over: () => void;
}

/** One end of a lane: it reads and writes frames. What is sent in one turn of the event loop leaves together. */
export class LaneSocket {
  readonly #options: LaneSocketOptions;
  /** The pieces of frames whose end has not come. */
  #pieces: string[] = [];
  #length = 0;
  #outgoing = '';
  #isOver = false;
  #isPaused = false;
  #isReading = false;

  constructor(options: LaneSocketOptions) {
    this.#options = options;
    const { socket, over } = options;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => this.#arrived(text));
    socket.on('error', () => {});
    socket.on('drain', () => options.drained?.());
    socket.once('close', () => {
      this.#isOver = true;
      over();
    });
  }

  /** The characters and bytes that the other side has not read. */
  get unread(): number {
    return this.#options.socket.writableLength + this.#outgoing.length;
  }

  /** Sends a frame, with its body. */
  send(frame: LaneFrame, body?: string): void {
    if (this.#isOver) return;
    if (this.#outgoing === '') setImmediate(() => this.#flush());
    this.#outgoing += encodeFrame(frame, body);
  }

  /** Reads no more until {@link resume} is called, not even a frame that has come already. */
  pause(): void {
    this.#isPaused = true;
    this.#options.socket.pause();
  }

  /** Reads on. */
  resume(): void {
    this.#isPaused = false;
    if (this.#isReading) return;
    this.#readPieces();
    if (!this.#isPaused) this.#options.socket.resume();
  }

  /** Sends what waits, and ends the lane. */
  end(): void {
    this.#flush();
    this.#options.socket.end();
    this.#options.socket.destroySoon();
  }

  /** Ends the lane at once. */
  destroy(): void {
    this.#isOver = true;
    this.#options.socket.destroy();
  }

  #flush(): void {
    const text = this.#outgoing;
    this.#outgoing = '';
    if (text !== '' && !this.#isOver) this.#options.socket.write(text);
  }

  #arrived(piece: string): void {
    this.#length += piece.length;
    this.#pieces.push(piece);
    // A long body arrives in many pieces: they are joined once.
    if (piece.includes('\n')) this.#readPieces();
    if (this.#length > this.#options.maxLength && !this.#isPaused) this.destroy();
  }

  /** Reads the whole frames that have come, and keeps the rest. */
  #readPieces(): void {
    const text = this.#pieces.join('');
    this.#isReading = true;
    const rest = this.#read(text);
    this.#isReading = false;
    this.#pieces = rest === text.length ? [] : [rest === 0 ? text : text.slice(rest)];
    this.#length = text.length - rest;
  }

  /** Reads the whole frames of a text. Returns the place where they end. */
  #read(text: string): number {
    let at = 0;
    while (!this.#isOver && !this.#isPaused) {
      const end = text.indexOf('\n', at);
      if (end < 0) break;
      const header = text.slice(at, end);
      let body: string | undefined;
      let next = end + 1;
      if (header.endsWith(announcesBody)) {
        const bodyEnd = text.indexOf('\n', next);
        if (bodyEnd < 0) break;
        body = text.slice(next, bodyEnd);
        next = bodyEnd + 1;
      }
      at = next;
      const frame = parseLaneFrame(header);
      if (frame) this.#options.receive(frame, body);
      else this.destroy();
    }
    return at;
  }
}
