import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { JsonLineReader, messageOf, SignalboxError } from '@signalbox/protocol';
import { withoutCutSecret } from '../config/config-redaction.ts';
import type { StdioServerConfig } from '../config/server-config.ts';
import { ByteRing } from './byte-ring.ts';
import { childEnvironment } from './child-environment.ts';
import { LineWriter } from './line-writer.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** How long a server is asked nicely, in milliseconds: after its input ended, and after SIGTERM. */
export interface CloseGrace {
  inputEndMs: number;
  terminateMs: number;
}

/** How a process is looked after. */
export interface ProcessCare extends Partial<CloseGrace> {
  /** Called with the id of the process as soon as there is one. Returns what to call when it is gone. */
  onProcess?: (pid: number) => () => void;
}

const defaultGrace: CloseGrace = { inputEndMs: 500, terminateMs: 2_000 };

/** One promise for all that had nothing to wait for. */
const taken = Promise.resolve();

/** An exited process may have left answers in the pipe; a grandchild may hold the pipe open for ever. */
const lastOutputMs = 250;

/**
 * A child process that speaks JSON lines, as a transport of the MCP SDK. The child leads a process group of its own, and
 * the whole group goes when it exits or is closed. Closed means: the process is gone.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;

  readonly #config: StdioServerConfig;
  readonly #grace: CloseGrace;
  readonly #onProcess: ProcessCare['onProcess'];
  readonly #lines = new JsonLineReader();
  readonly #stderr = new ByteRing();
  readonly #gone = Promise.withResolvers<void>();
  #child: Child | undefined;
  #input: LineWriter | undefined;
  #drained: Promise<void> | undefined;
  #writable = false;
  #chatty = false;
  #closing: Promise<void> | undefined;
  #end: string | undefined;

  constructor(config: StdioServerConfig, care: ProcessCare = {}) {
    const { onProcess, ...grace } = care;
    this.#config = config;
    this.#grace = { ...defaultGrace, ...grace };
    this.#onProcess = onProcess;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Why there is no process any more, without its command line; `undefined` while there is one. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Whether a message sent now can reach the process. */
  get isOpen(): boolean {
    return this.#writable;
  }

  /** The last 64 KiB the process wrote to its standard error, with secrets in it, but not with half of one at its beginning. */
  stderrTail(): string {
    const text = this.#stderr.text();
    return this.#stderr.isCut ? withoutCutSecret(text.replace(/^\uFFFD+/, ''), this.#config) : text;
  }

  async start(): Promise<void> {
    try {
      const child = spawnServer(this.#config);
      this.#child = child;
      this.#input = new LineWriter(child.stdin);
      this.#watch(child);
      const onGone = child.pid === undefined ? undefined : this.#onProcess?.(child.pid);
      if (onGone) this.#gone.promise.then(onGone);
      await once(child, 'spawn');
    } catch (error) {
      // Not the error itself: its text holds the command.
      this.#end = `could not be started (${codeOf(error)})`;
      this.#gone.resolve();
      throw new SignalboxError('server_failed', this.#end);
    }
    this.#writable = true;
  }

  send(message: JSONRPCMessage): Promise<void> {
    const input = this.#input;
    if (!this.#writable || !input) {
      return Promise.reject(new SignalboxError('not_sent', 'the server is not running'));
    }
    input.write(JSON.stringify(message));
    if (!input.isFull) return taken;
    this.#drained ??= this.#nextDrain(this.#child!.stdin);
    return this.#drained;
  }

  /** Ends the process and its group: end of input, then SIGTERM, then SIGKILL. Resolves when the process has exited. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  #watch(child: Child): void {
    child.once('exit', (code, signal) => this.#onExit(code, signal));
    child.on('error', (error) => this.onerror?.(error));
    child.stdout.on('data', (chunk: Buffer) => this.#onOutput(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on('error', (error) => this.#onBrokenPipe(error));
    }
  }

  async #shutDown(): Promise<void> {
    const child = this.#child;
    this.#writable = false;
    if (child && this.#end === undefined) {
      this.#input?.flush();
      child.stdin.end();
      if (!(await this.#goneWithin(this.#grace.inputEndMs))) {
        this.#signalGroup('SIGTERM');
        if (!(await this.#goneWithin(this.#grace.terminateMs))) this.#signalGroup('SIGKILL');
      }
    }
    if (child) await this.#gone.promise;
  }

  async #nextDrain(stdin: Writable): Promise<void> {
    await Promise.race([new Promise((resolve) => stdin.once('drain', resolve)), this.#gone.promise]);
    this.#drained = undefined;
  }

  #onOutput(chunk: Buffer): void {
    let lines: string[];
    try {
      lines = this.#lines.push(chunk);
    } catch (error) {
      this.#fail(messageOf(error));
      return;
    }
    for (const line of lines) this.#onLine(line);
  }

  #onLine(line: string): void {
    const message = jsonRpcOf(line);
    if (!message) {
      this.#reportChatter(line);
      return;
    }
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Servers that print to their standard output do it all the time: said once. */
  #reportChatter(line: string): void {
    if (this.#chatty || line.trim() === '') return;
    this.#chatty = true;
    this.onerror?.(new SignalboxError('bad_output', 'writes lines that are no messages'));
  }

  #onBrokenPipe(error: Error): void {
    this.onerror?.(error);
    if (this.#writable) this.#fail(`closed its input (${codeOf(error)})`);
  }

  /** The process is up but useless: end it, and say why. */
  #fail(reason: string): void {
    this.#end ??= reason;
    this.#writable = false;
    this.#signalGroup('SIGKILL');
  }

  async #onExit(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    this.#end ??= signal ? `was ended by ${signal}` : `exited with code ${code}`;
    this.#writable = false;
    this.#signalGroup('SIGKILL');
    const child = this.#child!;
    if (!child.stdout.readableEnded)
      await within(lastOutputMs, new Promise((resolve) => child.stdout.once('close', resolve)));
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    this.#gone.resolve();
    this.onclose?.();
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // ESRCH: nobody of the group is left.
    }
  }

  #goneWithin(ms: number): Promise<boolean> {
    return within(ms, this.#gone.promise);
  }
}

function spawnServer({ command, args = [], env, cwd }: StdioServerConfig): Child {
  return spawn(command, args, {
    env: childEnvironment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...(cwd !== undefined && { cwd }),
  });
}

async function within(ms: number, event: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([event.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function jsonRpcOf(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'jsonrpc' in value
      ? (value as JSONRPCMessage)
      : undefined;
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown reason';
}
