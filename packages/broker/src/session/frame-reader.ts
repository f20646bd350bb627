import { FrameCursor } from '@signalbox/protocol';

/** The number of frames of one connection that are handled in one turn of the event loop. Other connections come next. */
const framesPerTurn = 250;
/** The number of waiting characters above which nothing more is read from the socket. */
const maxWaitingLength = 1024 * 1024;

/** The dependencies of a {@link FrameReader}. */
export interface FrameReaderDeps {
  /** Handles one frame. It neither throws nor rejects. Returns a promise if later frames must wait for it. */
  handle(header: string, body: string | undefined): Promise<void> | undefined;
  /** Returns false once the connection is over. Frames that wait are then dropped. */
  isOpen(): boolean;
  /** Returns false while too many answers wait unread. No frame is then handled until {@link FrameReader.wake}. */
  mayAnswer(): boolean;
  /** Returns the milliseconds to wait before the next frame is handled, or 0. */
  waitMs(): number;
  /** Returns the number of the running turn of the event loop. */
  turn(): number;
  /** Stops reading from the socket. */
  pause(): void;
  /** Reads from the socket again. */
  resume(): void;
}

/**
 * Has the frames of one connection handled one after the other, in the order in which they came. However many frames a WebSocket
 * message holds, other connections get their turn, and no more answers are made than the sender reads.
 */
export class FrameReader {
  readonly #deps: FrameReaderDeps;
  /** WebSocket messages behind the one whose frames are handled. */
  readonly #waiting: string[] = [];
  /** The frames that are left of the message that is handled, and the length of that message in characters. */
  #frames: FrameCursor | undefined;
  #messageLength = 0;
  /** Characters of all messages that are not handled to their end. */
  #length = 0;
  /** The number of frames that may be handled in this turn. */
  #left = framesPerTurn;
  #turn = -1;
  #state: 'idle' | 'handling' | 'waiting' = 'idle';
  #paused = false;
  #isHeldUp = false;

  constructor(deps: FrameReaderDeps) {
    this.#deps = deps;
  }

  /** True while frames wait for {@link FrameReaderDeps.waitMs}. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** Takes one WebSocket message with all of its frames. */
  receive(message: string): void {
    this.#length += message.length;
    if (this.#frames) this.#waiting.push(message);
    else this.#begin(message);
    if (this.#state === 'idle') this.#run();
    if (this.#length > maxWaitingLength) this.#pause();
  }

  /** Continues when answers may be made again. */
  wake(): void {
    if (this.#state === 'waiting') this.#run();
  }

  #run(): void {
    const { handle, isOpen, mayAnswer, waitMs, turn } = this.#deps;
    this.#state = 'handling';
    const now = turn();
    if (now !== this.#turn) {
      this.#turn = now;
      this.#left = framesPerTurn;
    }
    while (isOpen()) {
      if (!mayAnswer()) {
        this.#state = 'waiting';
        return;
      }
      if (this.#left === 0) {
        setImmediate(() => this.#run());
        return;
      }
      const holdMs = this.#frames ? waitMs() : 0;
      if (holdMs > 0) {
        this.#hold(holdMs);
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

  #pause(): void {
    this.#paused = true;
    this.#deps.pause();
  }

  #hold(ms: number): void {
    this.#isHeldUp = true;
    this.#pause();
    setTimeout(() => {
      this.#isHeldUp = false;
      this.#run();
    }, ms);
  }

  #begin(message: string): void {
    this.#frames = new FrameCursor(message);
    this.#messageLength = message.length;
  }

  /** Moves to the next frame, if there is one. */
  #next(): FrameCursor | undefined {
    while (this.#frames) {
      if (this.#frames.next()) return this.#frames;
      this.#frames = undefined;
      this.#length -= this.#messageLength;
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
