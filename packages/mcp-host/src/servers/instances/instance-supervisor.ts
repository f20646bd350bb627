import { setTimeout as delay } from 'node:timers/promises';
import type { CancelSignal, McpLogMessage } from '@signalbox/protocol';
import { backoffMs, RestartBudget } from '@signalbox/serving';
import type { CallTarget } from '../../calls/call-target.ts';
import { instanceFacts } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import { type ResultRedactor, resultRedactor, textRedactor } from '../../config/server-secrets.ts';
import type { ReadMcpContent } from '../../inventory/mcp-content-list.ts';
import { redactedProblems, type ToolList } from '../../inventory/tool-list.ts';
import type { Declared } from '../../questions/askable.ts';
import type { QuestionCounts } from '../../questions/question-counts.ts';
import type { Authorizer } from '../../server-auth/index.ts';
import type { ServerConnection } from '../../server-connection.ts';
import { type Outage, serversWords } from '../../tool-calls/index.ts';
import type { ServerDeps } from '../server-deps.ts';
import type { InstanceStatus, ServerState } from '../server-status.ts';
import { describeStart } from '../starts/describe-start.ts';
import type { StartFailure } from '../starts/start-failure.ts';
import { unavailableProblem } from '../unavailable.ts';
import { untilAborted } from '../until-aborted.ts';
import { ListRefresh } from './list-refresh.ts';
import {
  type InstanceIdentity,
  type Started,
  type StartTarget,
  startServer,
  type WaitingState,
} from './start-server.ts';
import { Waiters } from './waiters.ts';

/** The failed starts in a row after which a server counts as down. A single one may be chance, for example during an update. */
const failedStartsWhenDown = 2;

/** The waits between restarts. */
const restartBackoff = { firstMs: 100, longestMs: 60_000, jitter: 1 };
/** The waits between questions for a server elsewhere, which cost next to nothing. */
const remoteBackoff = { firstMs: 100, longestMs: 1_000, jitter: 1 };

/** The number of log messages of the server that are kept for its operator, and the most characters of each. */
const keptMessages = 5;
const keptCharacters = 200;

/** The callbacks of an {@link InstanceSupervisor}. */
export interface SupervisorEvents {
  /** Called with the lists that were read from the server, before they are taken; they are taken when it resolves. Never rejects. */
  onRead: (read: { tools?: ToolList; mcpContent?: ReadMcpContent }) => Promise<void>;
  /** Called when the server is up and has listed its tools. */
  onReady: () => void;
  /** Called with each tool list of the server. */
  onList: (list: ToolList) => void;
  /** Called with the server's prompts, resources and instructions, each time that they were read. */
  onMcpContent: (mcpContent: ReadMcpContent) => void;
  /** Called when the server says that a resource has changed, even if nobody follows it. */
  onUpdated: (uri: string) => void;
}

/**
 * Keeps one instance of a server running: starts it, and restarts it with backoff when it is lost, until
 * its restarts are used up. It is ready only once the server has listed its tools.
 */
export class InstanceSupervisor implements CallTarget, StartTarget {
  readonly name: string;
  readonly instance: string;
  readonly config: McpServerConfig;
  readonly dataFolder: string | undefined;
  readonly authorizer: Authorizer | undefined;
  readonly declared: Declared;
  readonly questions: QuestionCounts;
  readonly redact: (text: string) => string;
  readonly known: StartTarget['known'] = { isLegacy: false };
  readonly redactResult: ResultRedactor | undefined;

  readonly #deps: ServerDeps;
  readonly #events: SupervisorEvents;
  readonly #facts: { server: string; instance?: string };
  readonly #stop = new AbortController();
  readonly #waiters = new Waiters<ServerConnection>();
  readonly #retired = new Set<ServerConnection>();
  readonly #restartBudget: RestartBudget;
  /** The longest time that a call waits while the server is down, in milliseconds. */
  readonly #downWaitMs: number;
  readonly #listRefresh: ListRefresh<ToolList>;
  readonly #mcpContentRefresh: ListRefresh<ReadMcpContent>;
  #firstAttempt = Promise.withResolvers<void>();
  /** Aborted when the present connection has to be replaced or ended at once. */
  #renewal = new AbortController();
  #supervision: Promise<void> | undefined;
  #connection: ServerConnection | undefined;
  #state: ServerState = 'idle';
  #problem: string | undefined;
  #lastError: string | undefined;
  /** True from the moment when it is given up until it is ready again. */
  #isToRestore = false;
  #starts = 0;
  /** The starts that failed since it was ready. */
  #failedStarts = 0;
  /** The time of the next start while it backs off, in monotonic milliseconds. */
  #nextStartAtMs: number | undefined;
  /** True if the last start failed only because the server answered the question for its tools with an error. */
  #isListRefused = false;
  /** See `FailedStart`; `undefined` while it is up. */
  #shownAs: WaitingState | undefined;
  #hasEnded = false;
  #upSinceMs = 0;
  #wasReady = false;
  #stderrTail = '';
  #logMessages: string[] = [];
  #followed: ReadonlySet<string> = new Set();
  #startFailure: StartFailure | undefined;
  /** The present start: its time, and its process as soon as it has one. */
  #start: { sinceMs: number; pid?: number } | undefined;

  constructor(identity: InstanceIdentity, deps: ServerDeps, events: SupervisorEvents) {
    const { name, instance, config, dataFolder, authorizer, declared, questions } = identity;
    this.name = name;
    this.instance = instance;
    this.config = config;
    this.dataFolder = dataFolder;
    this.authorizer = authorizer;
    this.declared = declared;
    this.questions = questions;
    const redact = textRedactor(config);
    this.redact = authorizer ? (text) => authorizer.redact(redact(text)) : redact;
    this.redactResult = resultRedactor(config, authorizer);
    this.#deps = deps;
    this.#events = events;
    this.#facts = instanceFacts(name, instance);
    const { maxRestarts, restartWindowMs, downWaitMs } = policyOf(config);
    this.#downWaitMs = downWaitMs;
    this.#restartBudget = new RestartBudget(maxRestarts, restartWindowMs);
    const limits = { timeoutMs: config.startTimeoutMs ?? deps.tuning.startMs, signal: this.#stop.signal };
    const refreshDeps = {
      now: deps.now,
      random: deps.random,
      readings: deps.readings,
      stop: this.#stop.signal,
      connection: () => (this.#state === 'ready' ? this.#connection : undefined),
    };
    this.#mcpContentRefresh = new ListRefresh({
      ...refreshDeps,
      what: 'prompts and resources',
      read: async (connection) => {
        const mcpContent = await connection.listMcpContent(limits);
        await events.onRead({ mcpContent });
        return mcpContent;
      },
      onList: (mcpContent) => this.#takeMcpContent(mcpContent),
      onProblem: () => deps.onChanged(),
    });
    this.#listRefresh = new ListRefresh({
      ...refreshDeps,
      what: 'tools',
      read: async (connection) => {
        const tools = await connection.listTools(limits);
        await events.onRead({ tools });
        return tools;
      },
      onList: (list) => this.#takeList(list),
      onProblem: (problem) => {
        this.#problem = problem && serversWords(this.redact(problem));
        deps.onChanged();
      },
    });
  }

  /** Starts the instance when `after` has resolved. Resolves when it is given up or was ended, and no process of it is left. */
  async run(after: Promise<void>): Promise<void> {
    this.#state = 'queued';
    this.#supervision ??= this.#supervise(after);
    await this.#supervision;
    await this.#retiredClosed();
  }

  /** Resolves when the first start, or the first since the last {@link reload}, has succeeded or failed. */
  get attempted(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** The present problem of the instance or its tool list; free of secrets. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** True if it was ready since the last reload. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** True if it is not kept running any more: it was ejected or refused, needs a sign-in, or was stopped. */
  get isGivenUp(): boolean {
    return ['ejected', 'refused', 'needs_auth', 'stopped'].includes(this.#state);
  }

  get outage(): Outage | undefined {
    if (this.#failedStarts < failedStartsWhenDown || this.isGivenUp) return undefined;
    const nextAtMs = this.#nextStartAtMs;
    return {
      failedStarts: this.#failedStarts,
      waitMs: this.#hasEnded ? 0 : this.#downWaitMs,
      nextStartMs: nextAtMs === undefined ? undefined : Math.max(0, nextAtMs - this.#deps.now()),
    };
  }

  /** Returns the status of the instance. */
  status(): InstanceStatus {
    const connections = new Set(this.#retired);
    if (this.#connection) connections.add(this.#connection);
    return {
      state: this.#state,
      pid: this.#connection?.pid ?? this.#start?.pid,
      startingSinceMs: this.#start?.sinceMs,
      inFlight: [...connections].reduce((sum, { inFlight }) => sum + inFlight, 0),
      restarts: Math.max(0, this.#starts - 1),
      upSinceMs: this.#state === 'ready' ? this.#upSinceMs : undefined,
      lastError: this.#lastError,
      startFailure: this.#startFailure,
      logMessages: this.#logMessages,
    };
  }

  /** Returns the last 64 KiB of standard error of the process that runs or ran last, without secrets. */
  stderrTail(): string {
    return this.redact(this.#connection?.stderrTail() ?? this.#stderrTail);
  }

  /** Makes the server report changes of these resources and of no others, also after each restart. */
  follow(uris: ReadonlySet<string>): void {
    this.#followed = uris;
    void this.openConnection?.follow(uris);
  }

  get openConnection(): ServerConnection | undefined {
    return this.#state === 'ready' && this.#connection?.isOpen ? this.#connection : undefined;
  }

  connection(timeoutMs: number, signal: CancelSignal): Promise<ServerConnection | undefined> {
    if (this.isGivenUp) return Promise.resolve(undefined);
    const open = this.openConnection;
    return open ? Promise.resolve(open) : this.#waiters.wait(this.#patienceMs(timeoutMs), signal);
  }

  freshConnection(timeoutMs: number, signal: CancelSignal): Promise<ServerConnection | undefined> {
    if (this.isGivenUp) return Promise.resolve(undefined);
    if (this.#state === 'ready') this.#renew();
    return this.#waiters.wait(this.#patienceMs(timeoutMs), signal);
  }

  /** Returns the time for which a call that has `timeoutMs` waits: while the server is down, only if the next start may come in time. */
  #patienceMs(timeoutMs: number): number {
    const { outage } = this;
    if (!outage) return timeoutMs;
    return (outage.nextStartMs ?? 0) < outage.waitMs ? Math.min(timeoutMs, outage.waitMs) : 0;
  }

  /**
   * Replaces the present connection, without waiting; running calls may finish. Past starts, restarts and errors are forgotten. Returns
   * true if it was given up and has to be {@link run} again.
   */
  reload(): boolean {
    if (this.#stop.signal.aborted) return false;
    const wasGivenUp = this.isGivenUp;
    this.#restartBudget.clear();
    this.#starts = 0;
    this.#failedStarts = 0;
    this.#wasReady = false;
    this.#lastError = undefined;
    this.#startFailure = undefined;
    this.#firstAttempt.resolve();
    this.#firstAttempt = Promise.withResolvers();
    if (!wasGivenUp) this.#renew();
    return wasGivenUp;
  }

  /** Ends the instance when its running calls have ended; it takes no new ones. Resolves when its process has exited. */
  async retire(): Promise<void> {
    this.#end();
    if (this.#connection) this.#retire(this.#connection);
    await this.#supervision;
    await this.#retiredClosed();
  }

  /** Ends the instance now. Resolves when its process has exited. */
  async close(): Promise<void> {
    this.#end();
    const retired = [...this.#retired].map((connection) => connection.close());
    await Promise.all([this.#supervision, this.#connection?.close(), ...retired]);
    await this.#retiredClosed();
  }

  #end(): void {
    this.#stop.abort();
    this.#renewal.abort();
    this.#state = 'stopped';
    this.#waiters.close();
    this.#firstAttempt.resolve();
  }

  #renew(): void {
    this.#state = 'queued';
    this.#renewal.abort();
  }

  async #supervise(after: Promise<void>): Promise<void> {
    try {
      await after;
      await this.#keepRunning();
    } finally {
      this.#supervision = undefined;
    }
  }

  async #keepRunning(): Promise<void> {
    const { now, random, log, tuning } = this.#deps;
    for (let attempt = 0; !this.isGivenUp; attempt++) {
      this.#renewal = new AbortController();
      const renewal = this.#renewal.signal;
      await this.#startOnce(renewal);
      if (this.#connection) {
        await this.#untilLost(this.#connection, renewal);
        if (now() - this.#upSinceMs >= tuning.sustainedUptimeMs) attempt = 0;
      }
      if (this.isGivenUp) return;
      if (renewal.aborted) continue;
      if (!this.#mayStartAgain()) return this.#giveUp('ejected', this.#lastError ?? 'unknown');
      const delayMs = backoffMs(
        this.config.type === 'remote' ? remoteBackoff : restartBackoff,
        attempt,
        random(),
      );
      this.#state = this.#shownAs ?? 'backing_off';
      this.#nextStartAtMs = now() + delayMs;
      this.#boundWaits();
      log({ event: 'server_backing_off', ...this.#facts, delayMs, reason: this.#lastError });
      await delay(delayMs, undefined, { signal: renewal }).catch(() => {});
      this.#nextStartAtMs = undefined;
    }
  }

  /**
   * Takes a restart from the budget. A server whose list failed is asked again without end, unless its configuration bounds its restarts:
   * it runs, and the network that it needs may come back.
   */
  #mayStartAgain(): boolean {
    const isUnbounded = this.#isListRefused && this.config.maxRestarts === undefined;
    return isUnbounded || this.#restartBudget.spend(this.#deps.now()) !== undefined;
  }

  /** Shortens the waits of calls that began before the server was down, and ends all if the next start comes too late for them. */
  #boundWaits(): void {
    const patienceMs = this.#patienceMs(Number.POSITIVE_INFINITY);
    if (patienceMs === 0) this.#waiters.release(undefined);
    else if (this.#failedStarts === failedStartsWhenDown) this.#waiters.endWithin(patienceMs);
  }

  async #startOnce(signal: AbortSignal): Promise<void> {
    // The state of a server elsewhere changes when the answer comes.
    const isHere = this.config.type !== 'remote' || this.#shownAs === undefined;
    if (isHere) this.#state = 'queued';
    // A server elsewhere is only asked for: it has started when it is there.
    if (this.config.type !== 'remote') this.#starts++;
    this.#listRefresh.forgetAnnouncements();
    this.#mcpContentRefresh.forgetAnnouncements();
    const onToolsChanged = () => this.#listRefresh.announce();
    const onMcpContentChanged = () => this.#mcpContentRefresh.announce();
    const onBegun = () => {
      if (isHere) this.#state = 'starting';
      this.#start = { sinceMs: this.#deps.now() };
    };
    const onProcess = (pid: number) => {
      if (this.#start) this.#start.pid = pid;
    };
    const start = await startServer(this, this.#deps, {
      signal,
      onToolsChanged,
      onMcpContentChanged,
      onResourceUpdated: this.#events.onUpdated,
      onLogMessage: (message) => this.#takeLogMessage(message),
      onBegun,
      onProcess,
    });
    this.#start = undefined;
    if ('connection' in start) {
      await this.#events.onRead({ tools: start.list, mcpContent: start.mcpContent });
      if (signal.aborted) await start.connection.close();
      else this.#becomeReady(start);
      return;
    }
    this.#stderrTail = start.stderrTail;
    if (signal.aborted) return;
    this.#failedStarts++;
    this.#isListRefused = start.isListRefused;
    // A host that does not have it any more has lost it.
    this.#shownAs = start.shownAs === 'not_offered' && this.#wasReady ? undefined : start.shownAs;
    this.#hasEnded = start.hasEnded;
    this.#startFailure = describeStart(this.config, start.trace, this.redact);
    // A program that has run before may only be missing while it is being updated.
    const isBeingUpdated = start.giveUp === 'ejected' && this.#wasReady;
    if (start.giveUp && !isBeingUpdated) this.#giveUp(start.giveUp, start.reason);
    else this.#fail(start.reason);
  }

  #takeLogMessage({ level, logger, data }: McpLogMessage): void {
    const said = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    const text = serversWords(this.redact(logger === undefined ? said : `${logger}: ${said}`));
    this.#logMessages = [...this.#logMessages, `${level}: ${text}`.slice(0, keptCharacters)].slice(
      -keptMessages,
    );
    this.#deps.log({
      event: 'server_message',
      ...this.#facts,
      level: ownLevel(level),
      severity: level,
      reason: text,
    });
  }

  #takeList({ problems, ...list }: ToolList): void {
    this.#events.onList({ ...list, problems: redactedProblems(problems, this.redact) });
  }

  #takeMcpContent({ problems, ...mcpContent }: ReadMcpContent): void {
    this.#events.onMcpContent({ ...mcpContent, problems: redactedProblems(problems, this.redact) });
  }

  #becomeReady({ connection, list, mcpContent }: Started): void {
    this.#connection = connection;
    this.#state = 'ready';
    this.#failedStarts = 0;
    this.#isListRefused = false;
    this.#shownAs = undefined;
    this.#hasEnded = false;
    if (this.config.type === 'remote') {
      this.#starts++;
      // Its host knows the errors of the server. Those here were reasons to wait for it, and it is there now.
      this.#lastError = undefined;
    }
    this.#startFailure = undefined;
    this.#upSinceMs = this.#deps.now();
    this.#wasReady = true;
    this.#problem = undefined;
    this.#takeList(list);
    this.#takeMcpContent(mcpContent);
    if (this.#followed.size > 0) void connection.follow(this.#followed);
    this.#waiters.release(connection);
    this.#firstAttempt.resolve();
    const tools = list.tools.length;
    this.#deps.log({ event: 'server_ready', ...this.#facts, tools, pid: connection.pid });
    this.#deps.onChanged();
    if (this.#isToRestore) this.#deps.tell({ ...this.#facts, change: 'restored' });
    this.#isToRestore = false;
    this.#events.onReady();
    this.#listRefresh.resume();
    this.#mcpContentRefresh.resume();
  }

  async #untilLost(connection: ServerConnection, renewal: AbortSignal): Promise<void> {
    const reason = await untilAborted(connection.lost, renewal);
    this.#connection = undefined;
    this.#stderrTail = connection.stderrTail();
    this.#retire(connection);
    if (reason === undefined || this.isGivenUp) return;
    if (this.config.type === 'remote') this.#shownAs = 'away';
    this.#state = this.#shownAs ?? 'backing_off';
    this.#deps.log({ event: 'server_lost', ...this.#facts, reason: serversWords(this.redact(reason)) });
    this.#fail(reason);
  }

  /** Lets the running calls of a connection finish, and then closes it. */
  #retire(connection: ServerConnection): void {
    this.#retired.add(connection);
    connection.retire().finally(() => this.#retired.delete(connection));
  }

  async #retiredClosed(): Promise<void> {
    await Promise.all([...this.#retired].map((connection) => connection.retire()));
  }

  #giveUp(state: 'ejected' | 'refused' | 'needs_auth', reason: string): void {
    this.#state = state;
    this.#fail(reason, unavailableProblem(state));
    this.#waiters.release(undefined);
    this.#isToRestore = true;
    const { restarts, lastError = reason } = this.status();
    this.#deps.tell({ ...this.#facts, change: state, reason: lastError });
    if (state === 'needs_auth') return;
    this.#deps.log({ event: `server_${state}`, ...this.#facts, restarts, reason: lastError });
  }

  #fail(reason: string, what = 'not available'): void {
    this.#lastError = serversWords(this.redact(reason));
    this.#problem = `${what}: ${this.#lastError}`;
    this.#firstAttempt.resolve();
    this.#deps.onChanged();
  }
}

/** Returns the level of our own log for a message of this level. A server's errors are no errors of ours. */
function ownLevel(level: McpLogMessage['level']): 'debug' | 'info' | 'warn' {
  if (level === 'debug') return 'debug';
  return level === 'info' || level === 'notice' ? 'info' : 'warn';
}
