import { setTimeout as delay } from 'node:timers/promises';
import type { CallTarget } from '../../calls/call-target.ts';
import { redactor } from '../../config/config-redaction.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { ServerState } from '../../host/host-api.ts';
import { redactedList, type ToolList } from '../../inventory/tool-list.ts';
import type { ServerConnection } from '../../sdk/connect-server.ts';
import type { InstanceDeps } from '../server-deps.ts';
import { stateProblem } from '../server-refusal.ts';
import { backoffMs } from './backoff.ts';
import { ConnectionUse } from './connection-use.ts';
import { type InstanceReport, ServerCondition } from './instance-condition.ts';
import { RestartBudget } from './restart-budget.ts';
import { orAborted, startServer } from './start-server.ts';
import { ToolListRefresh } from './tool-list-refresh.ts';
import { Waiters } from './waiters.ts';

/**
 * One instance of a configured server, kept running: started, restarted with backoff when it is lost, until its restarts
 * are used up. It is ready only once it has listed its tools.
 */
export class SupervisedSession implements CallTarget {
  readonly name: string;
  readonly instance: string;
  readonly config: McpServerConfig;
  readonly redact: (text: string) => string;

  readonly #deps: InstanceDeps;
  readonly #facts: { server: string; instance?: string };
  readonly #stop = new AbortController();
  readonly #waiters = new Waiters<ServerConnection>();
  readonly #use = new ConnectionUse();
  readonly #budget: RestartBudget;
  readonly #listRefresh: ToolListRefresh;
  readonly #is = new ServerCondition();
  #attempted = Promise.withResolvers<void>();
  /** Aborted to begin the next round of the supervision at once. */
  #round = new AbortController();
  #running: Promise<void> | undefined;
  #connection: ServerConnection | undefined;
  #stderrTail = '';

  constructor(name: string, instance: string, config: McpServerConfig, deps: InstanceDeps) {
    this.name = name;
    this.instance = instance;
    this.config = config;
    const redact = redactor(config);
    const { authorizer } = deps;
    this.redact = authorizer ? (text) => authorizer.redact(redact(text)) : redact;
    this.#deps = { ...deps, onList: (list) => deps.onList(redactedList(list, this.redact)) };
    this.#facts = { server: name, ...(instance !== '' && { instance }) };
    const { maxRestarts, restartWindowMs } = policyOf(config);
    this.#budget = new RestartBudget(maxRestarts, restartWindowMs);
    this.#listRefresh = new ToolListRefresh({
      ...this.#deps,
      redact: this.redact,
      condition: this.#is,
      stop: this.#stop.signal,
      session: () => (this.state === 'ready' ? this.#connection : undefined),
      read: (connection) =>
        connection.listTools({ timeoutMs: deps.tuning.startMs, signal: this.#stop.signal }),
    });
  }

  /** Starts it when `after` has resolved. Resolves when it is given up or was ended, and no process of it is left. */
  async run(after: Promise<void>): Promise<void> {
    this.#is.state = 'starting';
    this.#running ??= this.#supervise(after);
    await this.#running;
    await this.#use.retiredClosed();
  }

  /** Resolves when the first start, or the first since the last {@link reload}, has succeeded or failed. */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  get state(): ServerState {
    return this.#is.state;
  }

  /** What is the matter with it or its list; free of secrets. */
  get problem(): string | undefined {
    return this.#is.problem;
  }

  get lastError(): string | undefined {
    return this.#is.lastError;
  }

  /** Whether it was given up: nothing happens until a {@link reload}. */
  get isParked(): boolean {
    return this.#is.isParked;
  }

  report(): InstanceReport {
    return this.#is.report(this.#connection?.pid, this.#use.total);
  }

  /** The last 64 KiB of standard error of the process that runs or ran last, without secrets. */
  stderrTail(): string {
    return this.redact(this.#connection?.stderrTail() ?? this.#stderrTail);
  }

  get openConnection(): ServerConnection | undefined {
    return this.#is.state === 'ready' && this.#connection?.isOpen ? this.#connection : undefined;
  }

  /** An open connection, at once or as soon as the server is ready; `undefined` when time is up, or none will come. */
  connection(timeoutMs: number, signal: AbortSignal): Promise<ServerConnection | undefined> {
    if (this.isParked) return Promise.resolve(undefined);
    const open = this.openConnection;
    return open ? Promise.resolve(open) : this.#waiters.wait(timeoutMs, signal);
  }

  freshConnection(timeoutMs: number, signal: AbortSignal): Promise<ServerConnection | undefined> {
    if (this.isParked) return Promise.resolve(undefined);
    if (this.#is.state === 'ready') this.#renew();
    return this.#waiters.wait(timeoutMs, signal);
  }

  hold(connection: ServerConnection): void {
    this.#use.hold(connection);
  }

  release(connection: ServerConnection): void {
    this.#use.release(connection);
  }

  /**
   * A new session, without waiting, in place of the present one; requests under way may finish. Past restarts don't count
   * any more. True if it was parked, and has to be {@link run} again.
   */
  reload(): boolean {
    if (this.#stop.signal.aborted) return false;
    const parked = this.isParked;
    this.#budget.clear();
    this.#attempted.resolve();
    this.#attempted = Promise.withResolvers();
    if (!parked) this.#renew();
    return parked;
  }

  /** Ends it when the requests under way have ended; takes no new ones. Resolves when its process has exited. */
  async retire(): Promise<void> {
    this.#end();
    if (this.#connection) this.#use.retire(this.#connection);
    await this.#running;
    await this.#use.retiredClosed();
  }

  /** Ends it now and resolves when its process has exited. */
  async close(): Promise<void> {
    this.#end();
    await Promise.all([this.#running, this.#connection?.close(), this.#use.closeRetired()]);
  }

  #end(): void {
    this.#stop.abort();
    this.#round.abort();
    this.#is.state = 'stopped';
    this.#waiters.close();
    this.#attempted.resolve();
  }

  #renew(): void {
    this.#is.state = 'starting';
    this.#round.abort();
  }

  async #supervise(after: Promise<void>): Promise<void> {
    try {
      await after;
      await this.#keepUp();
    } finally {
      this.#running = undefined;
    }
  }

  async #keepUp(): Promise<void> {
    for (let attempt = 0; !this.isParked; attempt++) {
      this.#round = new AbortController();
      const round = this.#round.signal;
      await this.#startOnce(round);
      if (this.#connection) {
        await this.#untilLost(this.#connection, round);
        if (this.#deps.now() - this.#is.upSinceMs >= this.#deps.tuning.sustainedUptimeMs) attempt = 0;
      }
      if (this.isParked) return;
      if (round.aborted) continue;
      if (!this.#budget.spend(this.#deps.now())) return this.#park('ejected', this.lastError ?? 'unknown');
      const delayMs = backoffMs(attempt, this.#deps.random());
      this.#is.state = 'backing_off';
      this.#deps.log({ event: 'server_backing_off', ...this.#facts, delayMs, reason: this.#is.lastError });
      await delay(delayMs, undefined, { signal: round }).catch(() => {});
    }
  }

  async #startOnce(signal: AbortSignal): Promise<void> {
    this.#is.begin();
    this.#listRefresh.expectFirst();
    const start = await startServer(this, this.#deps, {
      signal,
      onToolsChanged: () => this.#listRefresh.announce(),
    });
    if ('connection' in start) {
      if (signal.aborted) await start.connection.close();
      else this.#becomeReady(start.connection, start.list);
      return;
    }
    this.#stderrTail = start.stderrTail;
    if (signal.aborted) return;
    if (start.needsAuth) this.#park('needs_auth', start.reason);
    else this.#fail(start.reason);
  }

  #becomeReady(connection: ServerConnection, list: ToolList): void {
    this.#connection = connection;
    this.#is.becomeReady(this.#deps.now());
    this.#deps.onList(list);
    this.#waiters.admit(connection);
    this.#attempted.resolve();
    const tools = list.tools.length;
    this.#deps.log({ event: 'server_ready', ...this.#facts, tools, pid: connection.pid });
    this.#deps.onChanged();
    this.#deps.onReady();
    this.#listRefresh.resume();
  }

  async #untilLost(connection: ServerConnection, round: AbortSignal): Promise<void> {
    const reason = await orAborted(connection.lost, round);
    this.#connection = undefined;
    this.#stderrTail = connection.stderrTail();
    this.#use.retire(connection);
    if (reason === undefined || this.isParked) return;
    this.#is.state = 'backing_off';
    this.#deps.log({ event: 'server_lost', ...this.#facts, reason: this.redact(reason) });
    this.#fail(reason);
  }

  #park(state: 'ejected' | 'needs_auth', reason: string): void {
    this.#is.state = state;
    this.#fail(reason, stateProblem(state));
    this.#waiters.dismiss();
    if (state !== 'ejected') return;
    const { restarts, lastError } = this.report();
    this.#deps.log({ event: 'server_ejected', ...this.#facts, restarts, reason: lastError });
  }

  #fail(reason: string, what?: string): void {
    this.#is.fail(this.redact(reason), what);
    this.#attempted.resolve();
    this.#deps.onChanged();
  }
}
