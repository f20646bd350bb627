import { FrameCursor } from '@signalbox/protocol';
import type { Turns } from '@signalbox/serving';

/** The number of waiting characters above which nothing more is read from the socket. */
const maxWaitingLength = 1024 * 1024;

/** A WebSocket message of text, or the mark of a binary one. */
type Message = string | typeof binary;

/** Marks a binary WebSocket message, whose content is never read. */
export const binary = Symbol('binary');

/** The dependencies of a {@link FrameReader}. */
export interface FrameReaderDeps {
  /** Handles one frame. It neither throws nor rejects. Returns a promise if later frames must wait for it. */
  handle(header: string, body: string | undefined): Promise<void> | undefined;
  /** Refuses a WebSocket message that was binary. */
  refuseBinary(): void;
  /** Returns false once the connection is over. Waiting frames are then dropped. */
  isOpen(): boolean;
  /** Returns false while too many answers wait unread. No frame is then handled until {@link FrameReader.wake}. */
  mayAnswer(): boolean;
  /** Returns the milliseconds to wait before the next frame is handled, or 0. */
  waitMs(): number;
  /** The turns that the connection shares with those of its agent. */
  turns: Turns;
  /** Stops reading from the socket. */
  pause(): void;
  /** Reads from the socket again. */
  resume(): void;
}

/**
 * Passes the frames of one connection to their handler one after the other, in the order in which they came. Even if a WebSocket message
 * holds very many frames, other connections get their turn, and no more answers are made than the sender reads.
 */
export class FrameReader {
  readonly #deps: FrameReaderDeps;
  /** The WebSocket messages after the one whose frames are being handled. */
  readonly #waiting: Message[] = [];
  /** The remaining frames of the message that is being handled, and the length of that message in characters. */
  #frames: FrameCursor | typeof binary | undefined;
  #messageLength = 0;
  /** The characters of all messages that are not completely handled. */
  #length = 0;
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

  /** Takes one WebSocket message with all its frames. */
  receive(message: Message): void {
    this.#length += lengthOf(message);
    if (this.#frames) this.#waiting.push(message);
    else this.#begin(message);
    if (this.#state === 'idle') this.#run();
    if (this.#length > maxWaitingLength) this.#pause();
  }

  /** Pauses the connection if its agent is over its budget. Call it when a part of a message was read. */
  partArrived(): void {
    if (this.#state !== 'idle') return;
    const holdMs = this.#deps.waitMs();
    if (holdMs === 0) return;
    this.#state = 'handling';
    this.#hold(holdMs);
  }

  /** Continues when answers may be made again. */
  wake(): void {
    if (this.#state === 'waiting') this.#run();
  }

  #run(): void {
    const { handle, isOpen, mayAnswer, waitMs, turns } = this.#deps;
    this.#state = 'handling';
    while (isOpen()) {
      if (!mayAnswer()) {
        this.#state = 'waiting';
        return;
      }
      if (turns.isOver && this.#frames) {
        turns.take(() => this.#run());
        return;
      }
      const holdMs = this.#frames ? waitMs() : 0;
      if (holdMs > 0) {
        this.#hold(holdMs);
        return;
      }
      const frame = this.#next();
      if (!frame) break;
      if (frame === binary) {
        this.#deps.refuseBinary();
        continue;
      }
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

  #begin(message: Message): void {
    this.#frames = message === binary ? binary : new FrameCursor(message);
    this.#messageLength = lengthOf(message);
  }

  /** Moves to the next frame, if there is one. */
  #next(): FrameCursor | typeof binary | undefined {
    while (this.#frames) {
      const frames = this.#frames;
      if (frames !== binary && frames.next()) return frames;
      this.#frames = undefined;
      this.#length -= this.#messageLength;
      const message = this.#waiting.shift();
      if (message !== undefined) this.#begin(message);
      if (frames === binary) return binary;
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

/** Returns the length of a message in characters. A binary message counts as one. */
function lengthOf(message: Message): number {
  return message === binary ? 1 : message.length;
}
