import type { BrokerFrame } from '@signalbox/protocol';
import { encodeFrame } from '@signalbox/protocol';
import type { WebSocket } from 'ws';

/** Longest batch, in characters: a longer one would keep the other side waiting for its end before it can begin. */
const longestBatch = 64 * 1024;

export interface OutboxBounds {
  /** Above this many unsent bytes nothing more is pushed and nothing more is read from the socket. */
  pauseBytes: number;
  /** Above this many the connection is closed as a slow consumer. */
  closeBytes: number;
  /** Ephemeral frames that may wait at once; further ones are dropped. */
  liveLaneMessages: number;
}

/**
 * Frames on their way to one socket. What is ready in one turn travels in one WebSocket message, control frames
 * ahead of messages.
 */
export class Outbox {
  readonly #socket: WebSocket;
  readonly #bounds: OutboxBounds;
  readonly #onDirty: (outbox: Outbox) => void;
  readonly #onDrained: () => void;
  readonly #onOverflow: () => void;
  #control: string[] = [];
  #messages: string[] = [];
  /** Characters of the frames above. */
  #queued = 0;
  #ephemeral = 0;
  #paused = false;
  #isOver = false;

  constructor(
    socket: WebSocket,
    bounds: OutboxBounds,
    on: { dirty: (outbox: Outbox) => void; drained: () => void; overflow: () => void },
  ) {
    this.#socket = socket;
    this.#bounds = bounds;
    this.#onDirty = on.dirty;
    this.#onDrained = on.drained;
    this.#onOverflow = on.overflow;
  }

  /** False where more waits than the pause bound, be it for the flush or for the other side to read. */
  get writable(): boolean {
    return !this.#paused && this.#queued < this.#bounds.pauseBytes;
  }

  get hasMessages(): boolean {
    return this.#messages.length > 0;
  }

  /** Receipts, errors, cancels: never behind messages. */
  control(frame: BrokerFrame): void {
    this.#add(this.#control, encodeFrame(frame));
  }

  message(frame: BrokerFrame, body: string | undefined): void {
    this.#add(this.#messages, encodeFrame(frame, body));
  }

  /** The live lane: dropped, and false, where too much waits already. */
  ephemeral(frame: BrokerFrame, body: string | undefined): boolean {
    if (!this.writable || this.#ephemeral >= this.#bounds.liveLaneMessages) return false;
    this.#ephemeral++;
    this.message(frame, body);
    return true;
  }

  flush(): void {
    const frames = this.#messages.length === 0 ? this.#control : this.#control.concat(this.#messages);
    this.#control = [];
    this.#messages = [];
    this.#ephemeral = 0;
    const wasFull = !this.#paused && !this.writable;
    this.#queued = 0;
    if (frames.length === 0 || this.#socket.readyState !== this.#socket.OPEN) return;
    for (const chunk of chunks(frames)) this.#socket.send(chunk, this.#sent);
    this.#checkPressure();
    if (wasFull && this.writable) this.#onDrained();
  }

  readonly #sent = (): void => {
    if (!this.#paused || this.#socket.bufferedAmount > this.#bounds.pauseBytes / 2) return;
    this.#paused = false;
    this.#socket.resume();
    this.#onDrained();
  };

  #add(lane: string[], text: string): void {
    if (this.#queued === 0) this.#onDirty(this);
    lane.push(text);
    this.#queued += text.length;
  }

  /** Once: whoever closes the connection flushes what it has to say, and nothing of that leaves here. */
  #overflow(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOverflow();
  }

  #checkPressure(): void {
    const waiting = this.#socket.bufferedAmount;
    if (waiting > this.#bounds.closeBytes) this.#overflow();
    else if (waiting > this.#bounds.pauseBytes && !this.#paused) {
      this.#paused = true;
      this.#socket.pause();
    }
  }
}

function* chunks(frames: readonly string[]): Generator<string> {
  let chunk = '';
  for (const frame of frames) {
    if (chunk.length > 0 && chunk.length + frame.length > longestBatch) {
      yield chunk;
      chunk = '';
    }
    chunk += frame;
  }
  if (chunk.length > 0) yield chunk;
}
