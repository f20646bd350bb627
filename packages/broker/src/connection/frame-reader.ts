import { FrameCursor } from '@signalbox/protocol';
import type { Slices } from '@signalbox/serving';

/** The number of waiting characters above which nothing more is read from the socket. */
const maxWaitingLength = 1024 * 1024;

/** A WebSocket message of text, or the mark of a binary one. */
type Message = string | typeof binary;

/** Marks a binary WebSocket message, whose content is never read. */
export const binary = Symbol('binary');

/**
 * The reason why no frame may be handled. `ended`: the connection is over, and waiting frames are dropped. `answers wait`: too many are
 * unread, and {@link FrameReader.wake} is called when they are read. `slice is over`: others have theirs. A number: the milliseconds to
 * wait.
 */
export type Obstacle = 'ended' | 'answers wait' | 'slice is over' | number;

/** The dependencies of a {@link FrameReader}. */
export interface FrameReaderDeps {
  /**
   * Counts one frame and handles it. It neither throws nor rejects. Returns a promise if later frames must wait for it. `messageBytes` is
   * given if the frame is the first of a WebSocket message that is not counted yet.
   */
  handle(
    header: string,
    body: string | undefined,
    messageBytes: number | undefined,
  ): Promise<void> | undefined;
  /** Counts a WebSocket message of which no frame is handled now. */
  countMessage(bytes: number): void;
  /** Refuses a WebSocket message that was binary. */
  refuseBinary(): void;
  /** Returns the reason why the next frame may not be handled now, if there is one. It is asked once for each frame. */
  obstacle(): Obstacle | undefined;
  /** The slices that the connection shares with those of its agent. */
  slices: Slices;
  /** Stops reading from the socket. */
  pause(): void;
  /** Reads from the socket again. */
  resume(): void;
}

/**
 * Passes the frames of one connection to their handler one after the other, in the order in which they came. Even if a WebSocket message
 * holds very many frames, other connections get their slice, and no more answers are made than the sender reads.
 */
export class FrameReader {
  readonly #deps: FrameReaderDeps;
  /** The WebSocket messages after the one whose frames are being handled. */
  readonly #waiting: Message[] = [];
  /** The remaining frames of the message that is being handled, and the length of that message in characters. */
  #frames: FrameCursor | undefined;
  #messageLength = 0;
  /** The bytes of the WebSocket message that is being received, until they are counted. */
  #uncounted: number | undefined;
  /** The next frame, if it must wait. */
  #next: FrameCursor | typeof binary | undefined;
  /** The characters of all messages that are not completely handled. */
  #length = 0;
  #state: 'idle' | 'handling' | 'waiting' = 'idle';
  #paused = false;
  #isHeldUp = false;

  constructor(deps: FrameReaderDeps) {
    this.#deps = deps;
  }

  /** True while frames wait because of an obstacle in milliseconds. */
  get isHeldUp(): boolean {
    return this.#isHeldUp;
  }

  /** True while no frame is handled and none waits. */
  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  /** Takes one WebSocket message of this many bytes with all its frames. */
  receive(message: Message, bytes: number): void {
    this.#length += lengthOf(message);
    this.#uncounted = bytes;
    this.#waiting.push(message);
    if (this.#state === 'idle') this.#run();
    if (this.#uncounted !== undefined) this.#deps.countMessage(bytes);
    this.#uncounted = undefined;
    if (this.#length > maxWaitingLength) this.#pause();
  }

  /** Reads nothing for some milliseconds. Call it only while the reader {@link isIdle}. */
  holdUp(ms: number): void {
    this.#state = 'handling';
    this.#hold(ms);
  }

  /** Continues when answers may be made again. */
  wake(): void {
    if (this.#state === 'waiting') this.#run();
  }

  #run(): void {
    const { handle, refuseBinary, obstacle } = this.#deps;
    this.#state = 'handling';
    for (;;) {
      const frame = this.#next ?? this.#advance();
      if (!frame) break;
      const reason = obstacle();
      if (reason === 'ended') break;
      if (reason !== undefined) {
        this.#next = frame;
        this.#wait(reason);
        return;
      }
      this.#next = undefined;
      if (frame === binary) {
        refuseBinary();
        continue;
      }
      const bytes = this.#uncounted;
      this.#uncounted = undefined;
      const waitFor = handle(frame.header, frame.body, bytes);
      if (waitFor) {
        waitFor.then(() => this.#run());
        return;
      }
    }
    this.#finish();
  }

  #wait(reason: Exclude<Obstacle, 'ended'>): void {
    if (reason === 'answers wait') this.#state = 'waiting';
    else if (reason === 'slice is over') this.#deps.slices.take(() => this.#run());
    else this.#hold(reason);
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

  /** Moves to the next frame, if there is one. */
  #advance(): FrameCursor | typeof binary | undefined {
    for (;;) {
      if (this.#frames?.next()) return this.#frames;
      this.#frames = undefined;
      this.#length -= this.#messageLength;
      this.#messageLength = 0;
      const message = this.#waiting.shift();
      if (message === undefined) return undefined;
      this.#messageLength = lengthOf(message);
      if (message === binary) return binary;
      this.#frames = new FrameCursor(message);
    }
  }

  #finish(): void {
    this.#state = 'idle';
    this.#frames = undefined;
    this.#next = undefined;
    this.#waiting.length = 0;
    this.#length = 0;
    this.#messageLength = 0;
    if (!this.#paused) return;
    this.#paused = false;
    this.#deps.resume();
  }
}

/** Returns the length of a message in characters. A binary message counts as one. */
function lengthOf(message: Message): number {
  return message === binary ? 1 : message.length;
}
