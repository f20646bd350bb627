import { FrameCursor } from '@signalbox/protocol';

/** So many frames are handled before other connections get their turn. */
const framesPerTurn = 2000;
/** So many characters may wait here before nothing more is read from the socket. */
const pauseLength = 1024 * 1024;

export interface FrameReaderDeps {
  /** Handles one frame, and never fails. Returns a promise where the frames behind it have to wait. */
  handle(header: string, body: string | undefined): Promise<void> | undefined;
  /** False once the connection is over: what waits is dropped. */
  isOpen(): boolean;
  /** False while the connection's answers pile up unread: nothing is handled until {@link FrameReader.wake}. */
  mayAnswer(): boolean;
  /** Stops and restarts reading from the socket. */
  pause(): void;
  resume(): void;
}

/**
 * Hands on the frames of one connection, one after the other in the order they came. However many a message holds, they
 * neither keep the other connections waiting nor make more answers than their sender reads.
 */
export class FrameReader {
  readonly #deps: FrameReaderDeps;
  /** Messages behind the one whose frames are handled. */
  readonly #waiting: string[] = [];
  /** The frames of one message that are left, and the characters of all of it. */
  #frames: FrameCursor | undefined;
  #frameLength = 0;
  /** Characters of all messages that are not done with. */
  #length = 0;
  #left = framesPerTurn;
  #state: 'idle' | 'handling' | 'waiting' = 'idle';
  #paused = false;

  constructor(deps: FrameReaderDeps) {
    this.#deps = deps;
  }

  /** Takes all frames of one WebSocket message. */
  receive(message: string): void {
    this.#length += message.length;
    if (this.#frames) this.#waiting.push(message);
    else this.#begin(message);
    if (this.#state === 'idle') {
      this.#left = framesPerTurn;
      this.#run();
    }
    if (this.#length <= pauseLength) return;
    this.#paused = true;
    this.#deps.pause();
  }

  /** The connection takes answers again. */
  wake(): void {
    if (this.#state === 'waiting') this.#run();
  }

  #run(): void {
    const { handle, isOpen, mayAnswer } = this.#deps;
    this.#state = 'handling';
    while (isOpen()) {
      if (!mayAnswer()) {
        this.#state = 'waiting';
        return;
      }
      if (this.#left === 0) {
        this.#yield();
        return;
      }
      const frame = this.#next();
      if (!frame) break;
      this.#left--;
      const waitFor = handle(frame.header, frame.body);
      if (waitFor) {
        waitFor.then(() => this.#run());
        return;
      }
    }
    this.#finish();
  }

  #yield(): void {
    setImmediate(() => {
      this.#left = framesPerTurn;
      this.#run();
    });
  }

  #begin(message: string): void {
    this.#frames = new FrameCursor(message);
    this.#frameLength = message.length;
  }

  /** Moves to the next frame, if there is one. */
  #next(): FrameCursor | undefined {
    while (this.#frames) {
      if (this.#frames.next()) return this.#frames;
      this.#frames = undefined;
      this.#length -= this.#frameLength;
      const message = this.#waiting.shift();
      if (message !== undefined) this.#begin(message);
    }
    return undefined;
  }

  #finish(): void {
    this.#state = 'idle';
    this.#frames = undefined;
    this.#waiting.length = 0;
    this.#length = 0;
    if (!this.#paused) return;
    this.#paused = false;
    this.#deps.resume();
  }
}
