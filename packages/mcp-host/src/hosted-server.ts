import { setTimeout as delay } from 'node:timers/promises';
import type { Implementation } from '@modelcontextprotocol/client';
import { SignalboxError } from '@signalbox/protocol';
import type PQueue from 'p-queue';
import { backoffMs } from './backoff.ts';
import type { McpServerConfig } from './config.ts';
import { type Connection, openConnection, type RequestLimits } from './connection.ts';
import { ConnectionUse } from './connection-use.ts';
import { failureOf } from './failure.ts';
import { redactor } from './redaction.ts';
import type { ToolList } from './tool-list.ts';
import type { HostTuning } from './tuning.ts';
import { WaitingRoom } from './waiting-room.ts';

export type ServerState = 'idle' | 'starting' | 'ready' | 'backing_off' | 'stopped';

/** How a hosted server is doing. `restarts` counts the starts after the first; `lastError` is free of secrets. */
export interface ServerStatus {
  name: string;
  state: ServerState;
  restarts: number;
  toolCount: number;
  inFlight: number;
  lastError?: string;
  /** Of the process of a stdio server, while there is one. */
  pid?: number;
}

/** One line for the log. `event` says what happened, the rest are its facts. */
export interface HostEvent {
  event: string;
  [fact: string]: unknown;
}

/** What the host gives each of its servers. */
export interface ServerSurroundings {
  clientInfo: Implementation;
  tuning: HostTuning;
  now: () => number;
  random: () => number;
  /** Where starts wait for one another, so that many servers don't all start in one moment. */
  starts: PQueue;
  log: (event: HostEvent) => void;
  /** The server's {@link HostedServer.list} may read differently now. */
  onListChanged: () => void;
}

/**
 * One configured server, kept running: started, restarted with backoff when it is lost, its tool list kept current. It is
 * ready only once it has listed its tools; the last list is kept while it is not.
 */
export class HostedServer {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly redact: (text: string) => string;

  readonly #around: ServerSurroundings;
  readonly #stop = new AbortController();
  readonly #room = new WaitingRoom<Connection>();
  readonly #use = new ConnectionUse();
  readonly #firstAttempt = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #connection: Connection | undefined;
  #state: ServerState = 'idle';
  #starts = 0;
  #list: ToolList | undefined;
  #listProblem: string | undefined;
  #lastError: string | undefined;
  #stderrTail = '';
  #listing = false;
  #listAgain = false;

  constructor(name: string, config: McpServerConfig, around: ServerSurroundings) {
    this.name = name;
    this.config = config;
    this.redact = redactor(config);
    this.#around = around;
  }

  start(): void {
    this.#running ??= this.#supervise();
  }

  /** Resolves when the first start has succeeded or failed. */
  get firstAttempt(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  /** The last good list; with a problem of its own while the server can't list. */
  get list(): ToolList {
    const { tools = [], problems = [] } = this.#list ?? {};
    const current = this.#listProblem ?? (this.#list ? undefined : 'not available: it has not started yet');
    return current === undefined
      ? { tools, problems }
      : { tools, problems: [{ message: current }, ...problems] };
  }

  /** False until the server has listed its tools for the first time. */
  get hasListed(): boolean {
    return this.#list !== undefined;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  status(): ServerStatus {
    const pid = this.#connection?.pid;
    return {
      name: this.name,
      state: this.#state,
      restarts: Math.max(0, this.#starts - 1),
      toolCount: this.#list?.tools.length ?? 0,
      inFlight: this.#use.total,
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(pid !== undefined && { pid }),
    };
  }

  /** The last 64 KiB of standard error of the process that runs or ran last, without secrets. */
  stderrTail(): string {
    return this.redact(this.#connection?.stderrTail() ?? this.#stderrTail);
  }

  /** An open connection, at once or as soon as the server is ready; `undefined` when time is up, or the server is stopped for good. */
  connection(timeoutMs: number, signal: AbortSignal): Promise<Connection | undefined> {
    const open = this.#state === 'ready' && this.#connection?.isOpen ? this.#connection : undefined;
    return open ? Promise.resolve(open) : this.#room.wait(timeoutMs, signal);
  }

  /** Runs a request on one of its connections, which is closed only after the last of them, lost or not. */
  use<T>(connection: Connection, request: () => Promise<T>): Promise<T> {
    return this.#use.run(connection, request);
  }

  /** Ends the server and resolves when its process has exited. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#state = 'stopped';
    this.#room.close();
    this.#firstAttempt.resolve();
    await Promise.all([this.#running, this.#connection?.close(), this.#use.closeRetired()]);
  }

  async #supervise(): Promise<void> {
    for (let attempt = 0; !this.#stop.signal.aborted; attempt++) {
      const upSince = await this.#startOnce();
      if (upSince !== undefined) {
        await this.#untilLost(this.#connection!);
        if (this.#around.now() - upSince >= this.#around.tuning.sustainedUptimeMs) attempt = 0;
      }
      if (this.#stop.signal.aborted) break;
      const delayMs = backoffMs(attempt, this.#around.random());
      this.#state = 'backing_off';
      this.#around.log({ event: 'server_backing_off', server: this.name, delayMs, reason: this.#lastError });
      await this.#pause(delayMs);
    }
  }

  /** Starts the server and lists its tools; when it became ready, or `undefined`. */
  async #startOnce(): Promise<number | undefined> {
    this.#state = 'starting';
    this.#starts++;
    let connection: Connection | undefined;
    try {
      connection = await this.#around.starts.add(() => this.#open(), { signal: this.#stop.signal });
      this.#connection = connection;
      this.#listAgain = false;
      this.#list = await connection.listTools(this.#startLimits());
      this.#stop.signal.throwIfAborted();
      if (!connection.isOpen) throw new SignalboxError('server_failed', await connection.lost);
    } catch (error) {
      await this.#startFailed(error, connection);
      return undefined;
    }
    this.#becomeReady(connection);
    return this.#around.now();
  }

  #open(): Promise<Connection> {
    const { clientInfo, tuning, log } = this.#around;
    return openConnection(this.config, {
      ...this.#startLimits(),
      clientInfo,
      grace: tuning,
      onToolsChanged: () => this.#relist(),
      onNoise: (error) =>
        log({ event: 'server_noise', server: this.name, reason: this.redact(noiseOf(error)) }),
    });
  }

  async #startFailed(error: unknown, connection: Connection | undefined): Promise<void> {
    this.#connection = undefined;
    this.#stderrTail = connection?.stderrTail() ?? stderrTailOf(error);
    const reason = connection && !connection.isOpen ? await connection.lost : failureOf(error).reason;
    await connection?.close();
    if (this.#stop.signal.aborted) return;
    this.#fail(connection ? `the server started, but its tools could not be listed: ${reason}` : reason);
  }

  #becomeReady(connection: Connection): void {
    this.#state = 'ready';
    this.#listProblem = undefined;
    this.#room.admit(connection);
    this.#firstAttempt.resolve();
    this.#around.log({
      event: 'server_ready',
      server: this.name,
      tools: this.#list?.tools.length,
      pid: connection.pid,
    });
    this.#around.onListChanged();
    if (this.#listAgain) this.#relist();
  }

  #fail(reason: string): void {
    this.#lastError = this.redact(reason);
    this.#listProblem = `not available: ${this.#lastError}`;
    this.#firstAttempt.resolve();
    this.#around.onListChanged();
  }

  async #untilLost(connection: Connection): Promise<void> {
    const reason = await connection.lost;
    this.#connection = undefined;
    this.#stderrTail = connection.stderrTail();
    this.#use.retire(connection);
    if (this.#stop.signal.aborted) return;
    this.#state = 'backing_off';
    this.#around.log({ event: 'server_lost', server: this.name, reason: this.redact(reason) });
    this.#fail(reason);
  }

  /** Lists again, once at a time: a notice that comes meanwhile makes one more round, so the last list read is the latest. */
  #relist(): void {
    this.#listAgain = true;
    if (!this.#listing) this.#listWhileAsked();
  }

  async #listWhileAsked(): Promise<void> {
    this.#listing = true;
    for (let attempt = 0; this.#listAgain && this.#state === 'ready'; ) {
      const connection = this.#connection;
      if (!connection?.isOpen) break;
      this.#listAgain = false;
      const problem = await this.#listOver(connection);
      if (connection !== this.#connection || !connection.isOpen) continue;
      this.#listProblem = problem;
      this.#around.onListChanged();
      if (problem === undefined) continue;
      this.#listAgain = true;
      await this.#pause(backoffMs(attempt++, this.#around.random()));
    }
    this.#listing = false;
  }

  /** Reads the list again; the problem with that, if there is one. */
  async #listOver(connection: Connection): Promise<string | undefined> {
    try {
      const list = await connection.listTools(this.#startLimits());
      if (connection === this.#connection) this.#list = list;
      return undefined;
    } catch (error) {
      return `the tools may have changed, but could not be listed again: ${this.redact(failureOf(error).reason)}`;
    }
  }

  #startLimits(): RequestLimits {
    return { timeoutMs: this.#around.tuning.startMs, signal: this.#stop.signal };
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

function stderrTailOf(error: unknown): string {
  const tail = error instanceof SignalboxError ? error.details.stderrTail : undefined;
  return typeof tail === 'string' ? tail : '';
}

/** The SDK's plain errors quote whole messages, which may hold anything; the log must not. */
function noiseOf(error: Error): string {
  return error.constructor === Error
    ? 'a message that nothing waits for'
    : failureOf(error).reason.slice(0, 200);
}
