import { type FrameText, splitFrames } from '@signalbox/protocol';

/** Frames handled before other connections get their turn. */
const framesPerTurn = 2000;
/** Characters that may wait here before nothing more is read from the socket. */
const pauseLength = 1024 * 1024;

export interface FrameReaderPorts {
  /** Handles one frame; a promise where those behind it have to wait. */
  handle(frame: FrameText): Promise<void> | undefined;
  /** Told when handling a frame failed; the next one is read. */
  failed(error: unknown): void;
  /** False once the connection is over: what waits is dropped. */
  isOpen(): boolean;
  /** False while the connection's answers pile up unread: nothing is handled until {@link FrameReader.wake}. */
  mayAnswer(): boolean;
  /** Stops and restarts reading from the socket. */
  pause(): void;
  resume(): void;
}

/**
 * The frames of one connection, one after the other in the order they came. However many a message holds, they
 * neither keep the other connections waiting nor make more answers than their sender reads.
 */
export class FrameReader {
  readonly #ports: FrameReaderPorts;
  readonly #messages: string[] = [];
  #length = 0;
  #frames: Iterator<FrameText> | undefined;
  #left = framesPerTurn;
  #state: 'idle' | 'handling' | 'waiting' = 'idle';
  #paused = false;

  constructor(ports: FrameReaderPorts) {
    this.#ports = ports;
  }

  /** All frames of one WebSocket message. */
  receive(message: string): void {
    this.#messages.push(message);
    this.#length += message.length;
    if (this.#state === 'idle') {
      this.#left = framesPerTurn;
      this.#run();
    }
    if (this.#length <= pauseLength) return;
    this.#paused = true;
    this.#ports.pause();
  }

  /** The connection takes answers again. */
  wake(): void {
    if (this.#state === 'waiting') this.#run();
  }

  #run(): void {
    const { isOpen, mayAnswer } = this.#ports;
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
      const step = this.#handle(frame);
      if (step) {
        step.then(() => this.#run());
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

  /** One bad frame must end neither the connection nor the broker. */
  #handle(frame: FrameText): Promise<void> | undefined {
    try {
      return this.#ports.handle(frame)?.catch(this.#ports.failed);
    } catch (error) {
      this.#ports.failed(error);
      return undefined;
    }
  }

  #next(): FrameText | undefined {
    for (;;) {
      const next = this.#frames?.next();
      if (next?.done === false) return next.value;
      if (this.#frames) this.#length -= this.#messages.shift()!.length;
      const [message] = this.#messages;
      this.#frames = message === undefined ? undefined : splitFrames(message);
      if (!this.#frames) return undefined;
    }
  }

  #finish(): void {
    this.#state = 'idle';
    this.#frames = undefined;
    this.#messages.length = 0;
    this.#length = 0;
    if (!this.#paused) return;
    this.#paused = false;
    this.#ports.resume();
  }
}
