import type { BrokerFrame, MessageFrame } from '@signalbox/protocol';
import { encodeFrame } from '@signalbox/protocol';
import type { WebSocket } from 'ws';
import type { Consumer } from '../core/consumer.ts';
import type { Reading } from './reading.ts';

/** The longest batch, in characters. The other side can begin to read a batch only when all of it has arrived. */
const maxBatchLength = 64 * 1024;

/** The bounds of an {@link Outbox}. */
export interface OutboxBounds {
  /** The number of unsent bytes above which nothing is pushed and nothing is read from the socket. */
  pauseBytes: number;
  /** The number of unsent bytes above which the connection is closed as a slow consumer. */
  closeBytes: number;
  /** The most ephemeral messages that may wait. Further ones are dropped. */
  liveLaneMessages: number;
}

/**
 * Gathers frames for one socket. A flush sends them in one WebSocket message, or in several if they are long ({@link FrameLane}).
 * Control frames are sent ahead of messages.
 */
export class Outbox implements Consumer {
  readonly #socket: WebSocket;
  readonly #reading: Reading;
  readonly #bounds: OutboxBounds;
  readonly #onDirty: (outbox: Outbox) => void;
  readonly #onDrained: () => void;
  readonly #onOverflow: () => void;
  readonly #controls = new FrameLane();
  readonly #messages = new FrameLane();
  /** True if a message waits for the flush. */
  hasMessages = false;
  /** The length of the frames that wait for the flush, in characters. */
  #queued = 0;
  #ephemeral = 0;
  #paused = false;
  #isOver = false;

  constructor(
    socket: WebSocket,
    reading: Reading,
    bounds: OutboxBounds,
    on: { dirty: (outbox: Outbox) => void; drained: () => void; overflow: () => void },
  ) {
    this.#socket = socket;
    this.#reading = reading;
    this.#bounds = bounds;
    this.#onDirty = on.dirty;
    this.#onDrained = on.drained;
    this.#onOverflow = on.overflow;
  }

  /** False while more than `pauseBytes` wait, for the flush or for the other side to read. */
  get writable(): boolean {
    return !this.#paused && this.#queued < this.#bounds.pauseBytes;
  }

  /** Adds a control frame (a receipt, an error, a cancel), which is sent ahead of messages. */
  send(frame: BrokerFrame): void {
    this.#add(this.#controls, frame);
  }

  /** Adds a control frame that is sent after the waiting messages, and before later ones. */
  sendBehindMessages(frame: BrokerFrame): void {
    this.#add(this.#messages, frame);
  }

  /** Adds a message. */
  push(frame: MessageFrame, body: string | undefined): void {
    this.hasMessages = true;
    this.#add(this.#messages, frame, body);
  }

  /** Adds a message that is not stored. Returns false if it was dropped because too many messages wait already. */
  pushEphemeral(frame: MessageFrame, body: string | undefined): boolean {
    if (!this.writable || this.#ephemeral >= this.#bounds.liveLaneMessages) return false;
    this.#ephemeral++;
    this.push(frame, body);
    return true;
  }

  /** Gives every waiting frame to the socket. */
  flush(): void {
    if (this.#queued === 0) return;
    // The last batch of one lane and the first one of the other are joined.
    for (const batch of this.#messages.take()) this.#controls.add(batch);
    const batches = this.#controls.take();
    this.#ephemeral = 0;
    this.hasMessages = false;
    const { pauseBytes } = this.#bounds;
    const wasFull = !this.#paused && this.#queued >= pauseBytes;
    // A character takes at most three bytes.
    const mayPause = this.#paused || this.#socket.bufferedAmount + 3 * this.#queued > pauseBytes / 2;
    const onSent = mayPause ? this.#sent : undefined;
    this.#queued = 0;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    for (const batch of batches) this.#socket.send(batch, onSent);
    this.#checkPressure();
    if (wasFull && this.writable) this.#onDrained();
  }

  readonly #sent = (): void => {
    if (!this.#paused || this.#socket.bufferedAmount > this.#bounds.pauseBytes / 2) return;
    this.#paused = false;
    this.#reading.resume('answers wait');
    this.#onDrained();
  };

  #add(lane: FrameLane, frame: BrokerFrame, body?: string): void {
    const text = encodeFrame(frame, body);
    if (this.#queued === 0) this.#onDirty(this);
    lane.add(text);
    this.#queued += text.length;
  }

  /** Reports an overflow once. The connection is then closed, which flushes its last frames and overflows again. */
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
      this.#reading.pause('answers wait');
    }
  }
}

/** Joins frames, in their order, into batches for one WebSocket message each. A longer frame is a batch of its own. */
export class FrameLane {
  #full: string[] = [];
  #last = '';

  /** Adds the text of one frame, or of several that must stay together. */
  add(text: string): void {
    const isRoom = this.#last.length + text.length <= maxBatchLength;
    if (isRoom || this.#last === '') this.#last += text;
    else {
      this.#full.push(this.#last);
      this.#last = text;
    }
  }

  /** Removes all batches and returns them. */
  take(): string[] {
    const batches = this.#full;
    if (this.#last !== '') batches.push(this.#last);
    this.#full = [];
    this.#last = '';
    return batches;
  }
}
