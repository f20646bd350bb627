import type { Readable, Writable } from 'node:stream';
import { JsonLineReader } from '@signalbox/protocol/json-lines';
import { LineWriter } from '@signalbox/serving';

/** The most characters that wait for a client that does not read. Beyond it, nothing is read from the client either. */
const maxUnreadBytes = 8 * 1024 * 1024;

export interface ClientEvents {
  onLine(line: string): void;
  /** Called when all lines of one chunk were given to `onLine`. */
  onChunkEnd(): void;
  onDrained(): void;
  /** Called when the client has hung up; `problem` says why it is not read any longer. May be called more than once. */
  onEnd(problem?: string): void;
}

/** The two streams to the client. Nothing is read before `open`. */
export class ClientStreams {
  readonly #input: Readable;
  readonly #writer: LineWriter;
  readonly #events: ClientEvents;
  readonly #lines = new JsonLineReader();
  #isOpen = false;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(input: Readable, output: Writable, events: ClientEvents) {
    this.#input = input;
    this.#events = events;
    this.#writer = new LineWriter(output);
    this.#writer.onDrained(() => {
      this.#drained?.resolve();
      this.#drained = undefined;
      events.onDrained();
    });
    output.on('error', () => events.onEnd());
  }

  /** Begins to read. */
  open(): void {
    const { onEnd, onChunkEnd, onLine } = this.#events;
    this.#isOpen = true;
    this.#input
      .on('data', (chunk: Buffer) => {
        let lines: string[];
        try {
          lines = this.#lines.push(chunk);
        } catch (error) {
          this.close();
          return onEnd(`the client ${(error as Error).message}`);
        }
        for (const line of lines) onLine(line);
        onChunkEnd();
      })
      .on('error', () => onEnd())
      .on('end', () => onEnd())
      .on('close', () => onEnd());
  }

  /** Stops reading. */
  close(): void {
    this.#isOpen = false;
    this.#input.destroy();
  }

  write(line: string): void {
    this.#writer.write(line);
  }

  /** Resumes or pauses reading. */
  setReading(reads: boolean): void {
    if (!this.#isOpen) return;
    if (reads) this.#input.resume();
    else this.#input.pause();
  }

  /** True if nothing more should be written to the client until it has read. */
  get isFull(): boolean {
    return this.#writer.isFull;
  }

  /** True if the client has not read for long. */
  get isUnread(): boolean {
    return this.#writer.waitingBytes > maxUnreadBytes;
  }

  /** Resolves when everything that was written has left, or never will. */
  written(): Promise<void> {
    return this.#writer.written();
  }

  /** Resolves when the client may be written to. */
  drained(): Promise<void> | undefined {
    if (!this.isFull) return undefined;
    this.#drained ??= Promise.withResolvers();
    return this.#drained.promise;
  }
}
