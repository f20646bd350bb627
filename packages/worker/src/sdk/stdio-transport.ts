import type { Readable, Writable } from 'node:stream';
import {
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import {
  bodyLimits,
  JsonLineReader,
  jsonLine,
  jsonProblem,
  jsonRpcHead,
  longNumber,
  messageOf,
  readJson,
  repeatedName,
  repeatedNameText,
} from '@signalbox/protocol';
import { dropAbsent } from './absent-values.ts';

export type { JSONRPCMessage, RequestId, Transport };

/** The number of characters beyond which lines are written before the turn of the event loop ends. */
const maxBatchLength = 64 * 1024;
/** The bounds of one message. The broker decides which texts are too long; the reader of lines bounds everything. */
const limits = { ...bodyLimits, maxLength: Number.POSITIVE_INFINITY };
/** Reads and writes lines that hold more than the JSON. */
export interface LineFormat {
  /** Returns the JSON of a line, or `undefined` if the line is no message. Throws if the line has another form. */
  jsonOf(line: string): string | undefined;
  /**
   * Called with each message of the client right before it is passed on. If it returns an answer, that is sent instead, and the message is
   * not passed on. A message for which it throws is neither passed on nor answered.
   */
  received(message: JSONRPCMessage): JSONRPCMessage | undefined;
  /** Called with each message before it is written. */
  sent(message: JSONRPCMessage): void;
  /**
   * Called before lines are written, with their length; the function that it returns is called when they have left this process, or could
   * not.
   */
  leaving(characters: number): (error?: Error | null) => void;
}

/** The result of `send`, which has nothing to wait for. */
const sent = Promise.resolve();

/**
 * JSON lines over two streams, as a transport of the MCP SDK. It closes when its input ends.
 *
 * It stands in place of the SDK's `StdioServerTransport`, which checks each message against a schema, as the server then does
 * again, and writes each message by itself. Here all messages of one turn of the event loop leave in one write. Checked with
 * SDK 2.4.0; look again with the next version.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #format: LineFormat | undefined;
  readonly #lines = new JsonLineReader();
  #text = '';
  #isClosed = false;
  #isMuted = false;

  constructor(input: Readable, output: Writable, format?: LineFormat) {
    this.#input = input;
    this.#output = output;
    this.#format = format;
  }

  /** Stops writing: everything that has not left yet, or is sent from now on, is dropped, although the client waits for it. */
  mute(): void {
    this.#text = '';
    this.#isMuted = true;
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
    if (this.#isMuted) return sent;
    this.#format?.sent(message);
    if (this.#text === '') process.nextTick(() => this.#flush());
    this.#text += `${jsonLine(message)}\n`;
    if (this.#text.length >= maxBatchLength) this.#flush();
    return sent;
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
    this.onclose?.();
  }

  #flush(): void {
    const text = this.#text;
    this.#text = '';
    if (text === '' || this.#isClosed) return;
    if (this.#format) this.#output.write(text, this.#format.leaving(text.length));
    else this.#output.write(text);
  }

  readonly #onEnd = (): void => void this.close();

  readonly #onError = (error: Error): void => this.onerror?.(error);

  readonly #onBrokenOutput = (error: Error): void => {
    if (this.#isClosed) return;
    this.onerror?.(error);
    void this.close();
  };

  readonly #onData = (chunk: Buffer | string): void => {
    let lines: string[];
    try {
      lines = this.#lines.push(chunk);
    } catch (error) {
      this.onerror?.(new Error(`the client ${messageOf(error)}`));
      void this.close();
      return;
    }
    for (const line of lines) {
      this.#onLine(line);
      if (this.#isClosed) return;
    }
  };

  #onLine(whole: string): void {
    let line: string | undefined;
    try {
      line = this.#format ? this.#format.jsonOf(whole) : whole;
    } catch (error) {
      this.onerror?.(error as Error);
      return;
    }
    if (line === undefined) return;
    // No text has more nodes than characters, and one more.
    const problem = line.length < limits.maxNodes ? undefined : jsonProblem(line, limits);
    if (problem !== undefined) {
      this.#refuse(line, problem);
      return;
    }
    let message: unknown;
    try {
      message = longNumber.test(line) ? readJson(line) : JSON.parse(line);
    } catch {
      // A line that is not JSON was printed by mistake, by the client or a program that it started.
      return;
    }
    try {
      if (!isMessage(message)) throw new Error('the client wrote JSON that is no message');
      const twice = nameTwice(message, line);
      if (twice !== undefined) {
        this.#refuse(line, `the call ${repeatedNameText(twice)}`);
        return;
      }
      if (line.includes('null')) dropAbsent(message);
      const params: unknown = 'method' in message ? message.params : undefined;
      if (params !== undefined && (typeof params !== 'object' || Array.isArray(params))) {
        this.#refuse(line, 'params must be an object, or left out');
        return;
      }
      const answer = this.#format?.received(message);
      if (answer) void this.send(answer);
      else this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Answers a request that is not parsed. */
  #refuse(line: string, problem: string): void {
    const { id, method } = jsonRpcHead(line);
    if (id !== undefined && method !== undefined) {
      const error = { code: ProtocolErrorCode.InvalidRequest, message: problem };
      this.send({ jsonrpc: '2.0', id, error }).catch(() => {});
    }
    this.onerror?.(new Error(`the client wrote a message that is not read: ${problem}`));
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return typeof value === 'object' && value !== null && 'jsonrpc' in value;
}

/** Returns the name that a tool call has twice in one object, if it has one. */
function nameTwice(message: JSONRPCMessage, line: string): string | undefined {
  if (!('method' in message) || message.method !== 'tools/call') return undefined;
  try {
    // Most clients write JSON as `JSON.stringify` does.
    return JSON.stringify(message) === line ? undefined : repeatedName(line);
  } catch {
    // It nests too deeply to be written, and is refused when it is passed on.
    return undefined;
  }
}
