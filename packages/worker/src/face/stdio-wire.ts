import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';

/** The longest line a client may write. */
const maxLineBytes = 32 * 1024 * 1024;
/** Past this many characters of one turn, lines are written without waiting for its end. */
const writeAt = 64 * 1024;
const newline = 10;
/** One promise for all messages: none has anything to wait for. */
const taken = Promise.resolve();

/**
 * JSON lines over two streams, as a transport of the MCP SDK. All messages of one turn of the event loop leave in one write.
 * It closes when its input ends. What a line holds is for its reader to judge.
 */
export class StdioWire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;

  readonly #input: Readable;
  readonly #output: Writable;
  #parts: Buffer[] = [];
  #bytes = 0;
  #text = '';
  #isClosed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#output.on('error', this.#onBrokenOutput);
    this.#input
      .on('data', this.#onData)
      .on('error', this.#onError)
      .on('end', this.#onEnd)
      .on('close', this.#onEnd);
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(this.#onEnd);
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('the connection to the client is closed'));
    if (this.#text === '') process.nextTick(() => this.#flush());
    this.#text += `${JSON.stringify(message)}\n`;
    if (this.#text.length >= writeAt) this.#flush();
    return taken;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    // The listener for errors of the output stays: a write that fails late must not end the process.
    this.#input
      .off('data', this.#onData)
      .off('error', this.#onError)
      .off('end', this.#onEnd)
      .off('close', this.#onEnd);
    if (this.#input.listenerCount('data') === 0) this.#input.pause();
    this.#parts = [];
    this.onclose?.();
  }

  #flush(): void {
    const text = this.#text;
    this.#text = '';
    if (text !== '' && !this.#isClosed) this.#output.write(text);
  }

  readonly #onEnd = (): void => void this.close();

  readonly #onError = (error: Error): void => this.onerror?.(error);

  readonly #onBrokenOutput = (error: Error): void => {
    if (this.#isClosed) return;
    this.onerror?.(error);
    void this.close();
  };

  readonly #onData = (chunk: Buffer | string): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const last = bytes.lastIndexOf(newline);
    if (last >= 0) {
      // All lines of a chunk become text at once: a call into native code for each would cost more than they do.
      for (const line of this.#complete(bytes, last).split('\n')) {
        this.#onLine(line);
        if (this.#isClosed) return;
      }
    }
    this.#keep(last < 0 ? bytes : bytes.subarray(last + 1));
    if (this.#bytes <= maxLineBytes) return;
    this.onerror?.(new Error(`the client wrote a line of more than ${maxLineBytes} bytes`));
    void this.close();
  };

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
  }

  /** What was kept and the chunk up to `last`, as text. */
  #complete(chunk: Buffer, last: number): string {
    if (this.#parts.length === 0) return chunk.toString('utf8', 0, last);
    const whole = Buffer.concat([...this.#parts, chunk.subarray(0, last)]);
    this.#parts = [];
    this.#bytes = 0;
    return whole.toString();
  }

  #onLine(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      // Whoever prints to a client's output by mistake prints no JSON.
      return;
    }
    try {
      if (!isMessage(message)) throw new Error('the client wrote JSON that is no message');
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return typeof value === 'object' && value !== null && 'jsonrpc' in value;
}
