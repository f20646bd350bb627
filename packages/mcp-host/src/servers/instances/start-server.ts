import { mkdir } from 'node:fs/promises';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { within } from '@signalbox/serving';
import { instanceFacts, listingInstance } from '../../config/instance-name.ts';
import type { McpServerConfig } from '../../config/server-config.ts';
import { policyOf } from '../../config/server-policy.ts';
import type { ReadMcpContent } from '../../inventory/mcp-content-list.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import { type Declared, declaredBy } from '../../questions/askable.ts';
import type { QuestionCounts } from '../../questions/question-counts.ts';
import { ServerQuestions } from '../../questions/server-questions.ts';
import { RemoteConnection } from '../../remote/remote-connection.ts';
import { type ConnectOptions, connectServer, type KnownServer } from '../../sdk/connect-server.ts';
import { failureOf } from '../../sdk/sdk-failure.ts';
import type { Authorizer } from '../../server-auth/index.ts';
import type { ServerConnection } from '../../server-connection.ts';
import { serversWords } from '../../tool-calls/index.ts';
import type { ServerDeps } from '../server-deps.ts';
import type { StartTrace } from '../starts/start-failure.ts';

/** The longest time for which the tools of a server wait for its lists of prompts and resources, in milliseconds. */
const maxMcpContentMs = 10_000;

/**
 * A connection and the tools of its server, or the reason why there is none. In that case no process is left, and `giveUp` is set if
 * another start can't succeed.
 */
export type StartResult = Started | FailedStart;

/** A connection, and the lists of its server. */
export interface Started {
  connection: ServerConnection;
  list: ToolList;
  mcpContent: ReadMcpContent;
}

interface FailedStart {
  reason: string;
  giveUp: 'needs_auth' | 'refused' | 'ejected' | undefined;
  stderrTail: string;
  /** True if the server runs and answered the question for its tools with an error. What it depends on may come back. */
  isListRefused: boolean;
  /** The state of a server elsewhere that is asked for in vain, but has not failed; `undefined` for any other failure. */
  shownAs: WaitingState | undefined;
  /** True if its orchestrator elsewhere has said that it ends: no call needs to wait for it. */
  hasEnded: boolean;
  /** The trace of the start; `undefined` for a server behind HTTP. */
  trace: StartTrace | undefined;
}

/** The callbacks of one start, and the signal that ends it. */
export interface StartEvents
  extends Pick<
    ConnectOptions,
    'signal' | 'onToolsChanged' | 'onMcpContentChanged' | 'onResourceUpdated' | 'onLogMessage'
  > {
  /** Called when its turn has come. */
  onBegun: () => void;
  /** Called with the id of each process that the start makes. */
  onProcess: (pid: number) => void;
}

/** Identifies one instance of a server. */
export interface InstanceIdentity {
  /** The name of the server in the configuration. */
  readonly name: string;
  /** The name of the instance; empty for the one that serves all callers. */
  readonly instance: string;
  /** The configuration of the instance. */
  readonly config: McpServerConfig;
  /** The folder for the server's files, if its configuration names it. It is created before the start. */
  readonly dataFolder: string | undefined;
  /** The access to an HTTP server that has `auth`. */
  readonly authorizer: Authorizer | undefined;
  /** The questions that the instance declares that it can be asked, and its knowledge of pages. */
  readonly declared: Declared;
  /** Counts the questions of the server. */
  readonly questions: QuestionCounts;
}

/** The instance to start. */
export interface StartTarget extends InstanceIdentity {
  /** Takes the secrets of the server's configuration out of a text. */
  readonly redact: (text: string) => string;
  /** Remembered from one start to the next. */
  readonly known: KnownServer;
  /** True if it has run before: its start comes before those of servers that have not. */
  readonly wasReady: boolean;
}

/** Waits for a turn in the queue of starts if it needs a process, connects to the server and lists its tools. Never rejects. */
export async function startServer(
  target: StartTarget,
  deps: ServerDeps,
  events: StartEvents,
): Promise<StartResult> {
  const { signal } = events;
  let trace: StartTrace | undefined;
  const onFailedStart = (seen: StartTrace) => {
    trace = seen;
  };
  const options = { ...connectOptions(target, deps, events), onFailedStart };
  const started: { connection?: Promise<ServerConnection> } = {};
  let connection: ServerConnection | undefined;
  let began = deps.now();
  try {
    if (target.dataFolder !== undefined) await makeDataFolder(target.dataFolder);
    const begin = () => {
      // The time in the queue does not count.
      began = deps.now();
      events.onBegun();
      started.connection = connect(target, options, deps);
      return started.connection;
    };
    if (target.config.type === 'stdio') {
      const priority = target.wasReady ? 1 : 0;
      await deps.starts.add(() => within(begin(), deps.tuning.startTurnMs), { signal, priority });
    } else {
      signal.throwIfAborted();
      begin();
    }
    connection = await started.connection!;
    const leftMs = () => Math.max(1, Math.ceil(options.timeoutMs - (deps.now() - began)));
    const read = await listsOf(connection, signal, leftMs);
    const older = listsNothing(read) ? await olderSide(connection, signal, leftMs) : undefined;
    if (older) {
      target.known.isLegacy = true;
      await connection.close();
      connection = older.connection;
    }
    signal.throwIfAborted();
    if (!connection.isOpen) throw new SignalboxError('server_failed', await connection.lost);
    return older ?? read;
  } catch (error) {
    const giveUp = endOf(error);
    if (!connection) {
      // When it is aborted, the queue does not wait for a running start, whose process still has to exit.
      await started.connection?.then(
        (late) => late.close(),
        () => {},
      );
      return {
        reason: messageOf(error),
        giveUp: giveUp ?? (trace && needsRepair(trace) ? 'ejected' : undefined),
        stderrTail: stderrTailOf(error),
        isListRefused: false,
        shownAs: waitingState(error),
        hasEnded: error instanceof SignalboxError && error.details?.ended === true,
        trace,
      };
    }
    const isListRefused =
      connection.isOpen && error instanceof SignalboxError && failureOf(error.cause).kind === 'answered';
    const why = connection.isOpen ? messageOf(error) : await connection.lost;
    const stderrTail = connection.stderrTail();
    await connection.close();
    const reason = `the server started, but its tools could not be listed: ${why}`;
    return {
      reason,
      giveUp,
      stderrTail,
      isListRefused,
      shownAs: undefined,
      hasEnded: false,
      trace: { obstacle: 'other', processes: [], stderrTail },
    };
  }
}

/** Reads the lists of a server. Rejects if its tools cannot be listed. */
async function listsOf(
  connection: ServerConnection,
  signal: AbortSignal,
  leftMs: () => number,
): Promise<Started> {
  const list = await connection.listTools({ signal, timeoutMs: leftMs() });
  const timeoutMs = Math.min(maxMcpContentMs, leftMs());
  const mcpContent = await connection.listMcpContent({ signal, timeoutMs });
  return { connection, list, mcpContent };
}

function listsNothing({ list, mcpContent: { prompts, resources, templates } }: Started): boolean {
  return [list.tools, prompts, resources, templates].every(({ length }) => length === 0);
}

/**
 * Returns the older side of a server if it lists something there. A proxy may offer the current revision for an older server, of which it
 * then lists nothing: findings/proxies-of-two-eras.sh.
 */
async function olderSide(
  newer: ServerConnection,
  signal: AbortSignal,
  leftMs: () => number,
): Promise<Started | undefined> {
  const connection = await newer.openOlder?.(leftMs()).catch(() => undefined);
  if (!connection) return undefined;
  const read = await listsOf(connection, signal, leftMs).catch(() => undefined);
  if (read && !listsNothing(read)) return read;
  await connection.close();
  return undefined;
}

/** The states of a server elsewhere that its host told, or that say that the host is not there. */
const waitingStates = ['not_offered', 'away', 'queued', 'starting'] as const;
export type WaitingState = (typeof waitingStates)[number];

function waitingState(error: unknown): WaitingState | undefined {
  if (!(error instanceof SignalboxError)) return undefined;
  if (error.code === 'server_not_found') return 'not_offered';
  return waitingStates.find((state) => state === error.details.state);
}

async function connect(
  { name, config }: StartTarget,
  options: ConnectOptions,
  { connectRemote }: ServerDeps,
): Promise<ServerConnection> {
  if (config.type !== 'remote') return await connectServer(config, options);
  if (!connectRemote) throw new SignalboxError('server_failed', `no orchestrator with a label can be asked`);
  const onListsChanged = (): void => {
    options.onToolsChanged();
    options.onMcpContentChanged();
  };
  return new RemoteConnection(await connectRemote(name, config, { ...options, onListsChanged }), config);
}

/** Makes the folder for the files of a server, closed to other users. Its error names no path, because agents may read it. */
async function makeDataFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const why = errnoOf(cause) ?? 'unknown reason';
    throw new SignalboxError(
      'server_failed',
      `its folder under servers/ in the data directory could not be made (${why})`,
      { cause },
    );
  }
}

function connectOptions(
  { name, instance, config, authorizer, redact, known, declared, questions: counts }: StartTarget,
  { tuning, now, log, onProcess, waiting }: ServerDeps,
  { signal, onToolsChanged, onMcpContentChanged, onResourceUpdated, onLogMessage, ...events }: StartEvents,
): ConnectOptions {
  const facts = instanceFacts(name, instance);
  const policy = policyOf(config);
  const questionsOf = (asked: Declared, isShared: boolean): ServerQuestions =>
    new ServerQuestions({
      server: name,
      declared: asked,
      isShared,
      waiting,
      now,
      onAsked: () => counts.asked(),
      onRefused: (method, why) => {
        // Many servers ask when they start, and the instance that lists the tools has no caller.
        if (instance !== listingInstance) counts.refused(instance, method, why);
      },
    });
  return {
    declared,
    // The instance that lists the tools serves no caller: no call of its agent is waited for.
    questions: questionsOf(declared, policy.share !== 'worker' || instance === listingInstance),
    declaredFor: (client) => declaredBy({ ...policy, share: 'worker', instance }, client),
    questionsOf: (asked) => questionsOf(asked, false),
    signal,
    onToolsChanged,
    onMcpContentChanged,
    onResourceUpdated,
    onLogMessage,
    timeoutMs: config.startTimeoutMs ?? tuning.startMs,
    now,
    known,
    process: {
      ...tuning,
      now,
      onProcess: (pid, mark) => {
        events.onProcess(pid);
        return onProcess(name, pid, mark);
      },
    },
    ...(authorizer && { authorizer }),
    onNoise: (reason) => log({ event: 'server_noise', ...facts, reason: serversWords(redact(reason)) }),
  };
}

/** Returns the state of a server for which another start is useless. */
function endOf(error: unknown): 'needs_auth' | 'refused' | undefined {
  if (!(error instanceof SignalboxError)) return undefined;
  if (error.code === 'serves_itself') return 'refused';
  return error.code === 'needs_auth' ? 'needs_auth' : undefined;
}

/** Returns true if a process could not be started for a reason that stays until a person repairs it. */
function needsRepair({ obstacle }: StartTrace): boolean {
  return ['no_command', 'no_interpreter', 'not_executable', 'no_directory'].includes(obstacle);
}

function stderrTailOf(error: unknown): string {
  const tail = error instanceof SignalboxError ? error.details.stderrTail : undefined;
  return typeof tail === 'string' ? tail : '';
}
