import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import {
  JsonLineReader,
  jsonLine,
  jsonRpcHead,
  jsonSize,
  longNumber,
  messageOf,
  readJson,
  SignalboxError,
} from '@signalbox/protocol';
import { LineWriter, late, within } from '@signalbox/serving';
import type { CloseGrace } from '../config/host-tuning.ts';
import type { StdioServerConfig } from '../config/server-config.ts';
import { limitsOf, maxAnswerNodes } from '../config/server-limits.ts';
import { withoutCutSecret } from '../config/server-secrets.ts';
import { markVariable } from '../environment/inherited-variables.ts';
import { serverEnvironment } from '../environment/server-environment.ts';
import { mendedMessage, uselessAnswer } from '../mended-message.ts';
import { NoticeBudget } from '../notice-budget.ts';
import type { StartObstacle } from '../servers/starts/start-failure.ts';
import { answerTooLarge, tooLargeMessage } from '../too-large-answer.ts';
import { ByteRing } from './byte-ring.ts';
import { PacedLines } from './paced-lines.ts';
import { codeOf, startProblem } from './start-problem.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A JSON-RPC 2.0 message. An answer has an id and no method. */
interface JsonRpcMessage extends Record<string, unknown> {
  jsonrpc: '2.0';
  id?: unknown;
  method?: unknown;
}

/** The times that a process gets to end, and the callback for its start. */
export interface ProcessOptions extends CloseGrace {
  /** Monotonic milliseconds. */
  now: () => number;
  /**
   * Called with the id of the process as soon as it has one, and with the mark in its environment unless its configuration has
   * `leaveDetached`. Returns the function to call when the process has ended. The transport is closed when its promise has resolved.
   */
  onProcess?: (pid: number, mark: string | undefined) => () => Promise<void>;
}

const bounds = { bytes: Number.POSITIVE_INFINITY, nodes: maxAnswerNodes };
const nodeBounds = { maxDepth: Number.POSITIVE_INFINITY, maxNodes: maxAnswerNodes };

const isObjectText = /^\s*\{/;

/** The result of every send that has nothing to wait for. */
const sent = Promise.resolve();

/** The most bytes that may wait for a process that does not read its input; further messages are not sent. */
const maxUnreadBytes = 32 * 1024 * 1024;

/**
 * The longest wait for the last output of a process that has exited. Answers may still be in the pipe, and a process
 * that it started may hold the pipe open for ever.
 */
const lastOutputMs = 250;

/**
 * A child process that speaks JSON lines. It has the shape of a transport of the MCP SDK. The child leads a process
 * group of its own, and the whole group ends when the child exits or the transport is closed. The transport counts as
 * closed when the process has exited.
 */
export class StdioTransport {
  onclose?: () => void;
  /** Called before a process that runs is ended by {@link close}, which waits for it. */
  onclosing: (() => Promise<void>) | undefined;
  onerror?: (error: Error) => void;
  onmessage?: (message: JsonRpcMessage) => void;

  readonly #config: StdioServerConfig;
  readonly #options: ProcessOptions;
  readonly #lines: JsonLineReader;
  readonly #paced: PacedLines;
  readonly #stderr = new ByteRing();
  readonly #gone = Promise.withResolvers<void>();
  #cleared: Promise<void> | undefined;
  #child: Child | undefined;
  #input: LineWriter | undefined;
  #drained: Promise<void> | undefined;
  #writable = false;
  #hasReportedBadLine = false;
  #hasReportedPause = false;
  #hasClosedInput = false;
  /** Requests that were sent and not answered. */
  #unanswered = 0;
  #closing: Promise<void> | undefined;
  #end: string | undefined;
  #obstacle: StartObstacle | undefined;

  constructor(config: StdioServerConfig, options: ProcessOptions) {
    this.#config = config;
    this.#options = options;
    this.#lines = new JsonLineReader(limitsOf(config).answerBytes);
    this.#paced = new PacedLines(new NoticeBudget(options.now), {
      take: (line) => this.#take(line),
      onPause: () => this.#pauseOutput(),
      onResume: () => this.#child?.stdout.resume(),
    });
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The reason why the process is gone, without its command line; `undefined` while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  /** The reason why no process could be started; `undefined` if one could. */
  get obstacle(): StartObstacle | undefined {
    return this.#obstacle;
  }

  /** True if a message sent now can reach the process. */
  get isOpen(): boolean {
    return this.#writable;
  }

  /** Returns the last 64 KiB of standard error, secrets included, but without half a secret at the beginning. */
  stderrTail(): string {
    const text = this.#stderr.text();
    return this.#stderr.isCut ? withoutCutSecret(text.replace(/^\uFFFD+/, ''), this.#config) : text;
  }

  async start(): Promise<void> {
    try {
      const mark = this.#config.leaveDetached ? undefined : randomUUID();
      const child = spawnServer(this.#config, mark);
      this.#child = child;
      this.#input = new LineWriter(child.stdin);
      this.#watch(child);
      const onGone = child.pid === undefined ? undefined : this.#options.onProcess?.(child.pid, mark);
      if (onGone) this.#cleared = this.#gone.promise.then(onGone);
      await once(child, 'spawn');
    } catch (error) {
      // The error itself is not used: its text holds the whole path of the command.
      const { obstacle, reason } = startProblem(this.#config, error);
      this.#obstacle = obstacle;
      this.#end = reason;
      this.#gone.resolve();
      throw new SignalboxError('server_failed', this.#end);
    }
    this.#writable = true;
  }

  send(message: JsonRpcMessage): Promise<void> {
    const input = this.#input;
    if (!this.#writable || !input) {
      return Promise.reject(new SignalboxError('not_sent', 'the server is not running'));
    }
    const unread = this.#child!.stdin.writableLength;
    if (unread > maxUnreadBytes) {
      const reason = `the server does not read its input, where ${unread} bytes wait`;
      return Promise.reject(new SignalboxError('not_sent', reason));
    }
    if (message.id !== undefined && message.method !== undefined) this.#unanswered++;
    input.write(jsonLine(message));
    if (!input.isFull) return sent;
    this.#drained ??= this.#nextDrain(this.#child!.stdin);
    return this.#drained;
  }

  /**
   * Ends the process and its group: end of input, then SIGTERM, then SIGKILL. Resolves when the process has exited, and what it left
   * behind has ended.
   */
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
      await this.onclosing?.();
      this.#input?.flush();
      child.stdin.end();
      if (!(await this.#exitsWithin(this.#options.inputEndMs))) {
        this.#signalGroup('SIGTERM');
        if (!(await this.#exitsWithin(this.#options.terminateMs))) this.#signalGroup('SIGKILL');
      }
    }
    if (child) await (this.#cleared ?? this.#gone.promise);
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
      this.#fail(`${messageOf(error)}; raise limits.answerBytes of the server`);
      return;
    }
    this.#paced.push(lines);
  }

  /** Handles a line. Returns true if it is an answer to a request. */
  #take(line: string): boolean {
    // Each node takes at least one character, so the nodes of most lines need not be counted.
    if (line.length > bounds.nodes && jsonSize(line, nodeBounds).nodes > bounds.nodes) {
      return this.#refuseLine(line);
    }
    const message = jsonRpcOf(line);
    if (!message) {
      this.#reportBadLine(line);
      return false;
    }
    const isAnswer = this.#isAnswer(message);
    try {
      // The SDK ignores an answer that is neither a result nor an error, and would go on waiting for one.
      const useful = mendedMessage(message);
      this.onmessage?.(useful ?? errorAnswer(message.id, uselessAnswer.reason, uselessAnswer));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    return isAnswer;
  }

  #isAnswer({ id, method }: JsonRpcMessage): boolean {
    if (id === undefined || method !== undefined || this.#unanswered === 0) return false;
    this.#unanswered--;
    return true;
  }

  /** Answers the call whose answer has too many nodes to be parsed with an error. */
  #refuseLine(line: string): boolean {
    const { id, method } = jsonRpcHead(line);
    const message = tooLargeMessage('nodes', bounds);
    if (id === undefined || method !== undefined) {
      this.onerror?.(new SignalboxError('bad_output', message));
      return false;
    }
    this.onmessage?.(errorAnswer(id, message, answerTooLarge));
    return this.#isAnswer({ jsonrpc: '2.0', id });
  }

  /**
   * Reports a line that is not a message. A server that prints other text to its standard output does so all the time, so it is reported
   * once.
   */
  #reportBadLine(line: string): void {
    if (this.#hasReportedBadLine || line.trim() === '') return;
    this.#hasReportedBadLine = true;
    this.onerror?.(new SignalboxError('bad_output', 'writes lines that are no messages'));
  }

  #pauseOutput(): void {
    this.#child?.stdout.pause();
    if (this.#hasReportedPause) return;
    this.#hasReportedPause = true;
    this.onerror?.(new SignalboxError('bad_output', 'writes so many notices that it is read more slowly'));
  }

  #onBrokenPipe(error: Error): void {
    this.onerror?.(error);
    if (!this.#writable) return;
    this.#fail(`closed its input (${codeOf(error)})`);
    this.#hasClosedInput = true;
  }

  /** Ends a process that runs but can't be used any more. */
  #fail(reason: string): void {
    this.#end ??= reason;
    this.#writable = false;
    this.#signalGroup('SIGKILL');
  }

  async #onExit(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    // A process that exits closes its input first, and its exit says more.
    if (this.#hasClosedInput && code !== null) this.#end = undefined;
    this.#end ??= signal ? `was ended by ${signal}` : `exited with code ${code}`;
    this.#writable = false;
    this.#signalGroup('SIGKILL');
    const child = this.#child!;
    if (!child.stdout.readableEnded)
      await within(new Promise((resolve) => child.stdout.once('close', resolve)), lastOutputMs);
    this.#paced.stop();
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
      // ESRCH: no process of the group is left.
    }
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    return (await within(this.#gone.promise, ms)) !== late;
  }
}

function spawnServer(config: StdioServerConfig, mark: string | undefined): Child {
  const { command, args = [], cwd } = config;
  return spawn(command, args, {
    env: { ...serverEnvironment(config), ...(mark !== undefined && { [markVariable]: mark }) },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    ...(cwd !== undefined && { cwd }),
  });
}

function errorAnswer(id: unknown, message: string, data: object) {
  return { jsonrpc: '2.0' as const, id, error: { code: -32603, message, data } };
}

function jsonRpcOf(line: string): JsonRpcMessage | undefined {
  // A failing parse costs much more.
  if (!isObjectText.test(line)) return undefined;
  try {
    const value: unknown = longNumber.test(line) ? readJson(line) : JSON.parse(line);
    return typeof value === 'object' && value !== null && 'jsonrpc' in value
      ? (value as JsonRpcMessage)
      : undefined;
  } catch {
    return undefined;
  }
}
