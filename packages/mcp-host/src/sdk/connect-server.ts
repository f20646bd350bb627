import {
  type Client,
  ProtocolError,
  ProtocolErrorCode,
  type StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { SignalboxError, workerFaceCapability } from '@signalbox/protocol';
import { within } from '@signalbox/serving';
import type { HttpServerConfig, StdioServerConfig } from '../config/server-config.ts';
import { listLimitsOf } from '../inventory/tool-filter.ts';
import type { Declared } from '../questions/askable.ts';
import type { ServerQuestions } from '../questions/server-questions.ts';
import { type Authorizer, isAboutScope } from '../server-auth/index.ts';
import type { RequestLimits, ServerConnection } from '../server-connection.ts';
import { processesOf, type RunningProcess } from '../servers/processes/process-tree.ts';
import type { StartTrace } from '../servers/starts/start-failure.ts';
import { type ProcessOptions, StdioTransport } from '../stdio/stdio-transport.ts';
import { refuseRequests } from './forbidden-requests.ts';
import { httpTransport } from './http-transport.ts';
import { LegacyCalls } from './legacy-calls.ts';
import { OlderSessions } from './older-sessions.ts';
import { deliverProgressFirst } from './progress-order.ts';
import type { Fetch } from './request-fetch.ts';
import { type ClientEvents, type ClientQuestions, newClient } from './sdk-client.ts';
import { SdkConnection } from './sdk-connection.ts';
import { failureOf } from './sdk-failure.ts';
import { isAboutSession, namesSession, refusesSession, SessionCheck, SessionLoss } from './session-loss.ts';
import { keepResultsUntouched } from './untouched-results.ts';
import type { UpstreamFetch } from './upstream-fetch.ts';

const sessionEndMs = 1_000;
/** The longest wait for the answer of an HTTP server to the question for its revision, in milliseconds. */
const probeMs = 10_000;
/** The longest wait for the answer to the question whether a session is known, in milliseconds. */
const pingMs = 10_000;
const subscriptionEnded = 'the server ended the stream of change notices';

/** The facts about a server that are kept for its next connection. */
export interface KnownServer {
  /** True if it was reached only without the question for its revision, or lists something only then. */
  isLegacy: boolean;
  /** True if it was configured without `protocol` and refused the revisions up to 2025-11-25. */
  refusesOlder?: boolean;
  /** Says whether it refuses `ping` in a new session; absent until it has refused one. */
  refusesPing?: boolean;
}

/** The bounds, the access and the callbacks of a connection to a server. */
export interface ConnectOptions extends RequestLimits, ClientEvents, ClientQuestions {
  /** Monotonic milliseconds. */
  now: () => number;
  known: KnownServer;
  /** Returns the questions that a session for the clients of one agent declares. */
  declaredFor: (client: Record<string, unknown> | undefined) => Declared;
  /** Makes the questions of such a session. */
  questionsOf: (declared: Declared) => ServerQuestions;
  process: ProcessOptions;
  /** The access to an HTTP server that has `auth`. */
  authorizer?: Authorizer;
  /** Called with the trace of each start of a process that failed. */
  onFailedStart?: (trace: StartTrace) => void;
}

/**
 * Starts or reaches the server and shakes hands. Rejects with `SignalboxError` `needs_auth`, `auth_failed`, `serves_itself` (the server is
 * a worker of Signalbox) or `server_failed`; no process is left then.
 */
export async function connectServer(
  config: StdioServerConfig | HttpServerConfig,
  options: ConnectOptions,
): Promise<ServerConnection> {
  if (config.type === 'http') return connectHttp(config, options);
  const limits = listLimitsOf(config);
  const transport = new StdioTransport(config, options.process);
  const { known } = options;
  if (config.protocol === 'legacy') return connectStdio(transport, 'legacy', limits, options);
  if (config.protocol === undefined && !known.refusesOlder) {
    const began = options.now();
    try {
      return await connectStdio(transport, 'legacy', limits, options);
    } catch (error) {
      const timeoutMs = options.timeoutMs - (options.now() - began);
      if (!(error instanceof RevisionRefused) || options.signal.aborted || timeoutMs <= 0) throw error;
      known.refusesOlder = true;
      return connectServer(config, { ...options, timeoutMs });
    }
  }
  if (known.isLegacy) return againInOlder(known, () => connectStdio(transport, 'legacy', limits, options));
  const began = options.now();
  try {
    const openOlder = (timeoutMs: number) => {
      const second = new StdioTransport(config, options.process);
      return connectStdio(second, 'legacy', limits, { ...options, onFailedStart: () => {}, timeoutMs });
    };
    return await connectStdio(transport, 'auto', limits, options, openOlder);
  } catch (error) {
    const leftMs = options.timeoutMs - (options.now() - began);
    const isFinal = transport.pid === undefined || isOwnFace(error) || known.refusesOlder || leftMs <= 0;
    if (options.signal.aborted || isFinal) throw error;
    // A server that is older than the request for the revision may exit on it.
    const second = new StdioTransport(config, options.process);
    return connectStdio(second, 'legacy', limits, { ...options, timeoutMs: leftMs });
  }
}

/** Asks one process for the current revision in mode `auto`, and for older ones if it doesn't know that one. */
async function connectStdio(
  transport: StdioTransport,
  mode: 'legacy' | 'auto',
  limits: ReturnType<typeof listLimitsOf>,
  options: ConnectOptions,
  openOlder?: ServerConnection['openOlder'],
): Promise<ServerConnection> {
  const loss = new SessionLoss();
  transport.onclose = () => loss.lose(transport.end ?? 'was closed');
  if (mode === 'auto') {
    keepResultsUntouched(transport);
    // Workaround for the SDK 2.4.0: it recognises a stdio server by this property and a process id. If such a server
    // does not answer, the SDK assumes an older revision; for any other server it reports a failure.
    Object.assign(transport, { stderr: null });
  }
  // The request for the revision and the handshake after it share the time of a start.
  const timeoutMs = mode === 'auto' ? Math.ceil(options.timeoutMs / 2) : options.timeoutMs;
  const client = newClient(mode, timeoutMs, options);
  let running: RunningProcess[] = [];
  // The SDK closes the transport of a handshake that failed before it says so.
  transport.onclosing = async () => {
    if (transport.pid !== undefined) running = await processesOf(transport.pid);
  };
  try {
    await shakeHands(client, transport, { ...options, timeoutMs });
    transport.onclosing = undefined;
  } catch (error) {
    const { kind, reason } = failureOf(error);
    const hasEnded = transport.end !== undefined;
    const isLate = !hasEnded && kind === 'timed_out';
    await transport.close();
    const processes = isLate ? running : [];
    const end = hasEnded ? transport.end : undefined;
    if (isOwnFace(error)) throw error;
    const obstacle = transport.obstacle ?? (isLate ? 'timed_out' : hasEnded ? 'ended' : 'other');
    options.onFailedStart?.({ obstacle, processes, stderrTail: transport.stderrTail() });
    const late = `gave no answer within ${Math.round(options.timeoutMs / 100) / 10} s after its start`;
    const Failed = isRevisionRefused(error) ? RevisionRefused : SignalboxError;
    throw new Failed('server_failed', end ?? (isLate ? late : reason), {
      details: { stderrTail: transport.stderrTail() },
    });
  }
  deliverProgressFirst(transport);
  if (client.getProtocolEra() === 'modern') refuseRequests(transport, options.onNoise);
  client.autoOpenedSubscription?.closed.then(() => loss.lose(transport.end ?? subscriptionEnded));
  const { questions } = options;
  const check = new SessionCheck(loss, namesSession, () => client.ping({ timeout: pingMs }), options.known);
  const legacyCalls = new LegacyCalls(transport, (words) => {
    if (isAboutSession(words)) void check.ask();
  });
  if (client.getProtocolEra() !== 'modern') void check.begin();
  return new SdkConnection(client, transport, loss, {
    limits,
    questions,
    onLogMessage: options.onLogMessage,
    legacyCalls,
    openOlder,
  });
}

/**
 * Asks for the current revision, unless the server is known to dislike that. If anything goes wrong with a server that was reached, it is
 * asked once more in the older way: many servers answer the unknown question with an error of their own, or not at all.
 */
async function connectHttp(config: HttpServerConfig, options: ConnectOptions): Promise<ServerConnection> {
  const { known, signal, now } = options;
  if (config.protocol === 'legacy') return openHttp(config, 'legacy', options);
  if (known.isLegacy) return againInOlder(known, () => openHttp(config, 'legacy', options));
  const began = now();
  try {
    return await openHttp(config, 'auto', options);
  } catch (error) {
    const timeoutMs = options.timeoutMs - (now() - began);
    const isFinal = !(error instanceof UnansweredHandshake) || timeoutMs <= 0;
    if (signal.aborted || isFinal) throw error;
    const connection = await openHttp(config, 'legacy', { ...options, timeoutMs }).catch((second) => {
      throw second instanceof UnansweredHandshake ? bothFailed(error, second) : second;
    });
    known.isLegacy = true;
    return connection;
  }
}

/** Connects in the older way. The server may have become newer since, so the start after a failed one asks again. */
async function againInOlder(
  known: KnownServer,
  open: () => Promise<ServerConnection>,
): Promise<ServerConnection> {
  known.isLegacy = false;
  const connection = await open();
  known.isLegacy = true;
  return connection;
}

/** The failed handshake of a server on standard input and output that knows none of the revisions it was asked for. */
class RevisionRefused extends SignalboxError {}

function isRevisionRefused(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === ProtocolErrorCode.UnsupportedProtocolVersion;
}

/** A failed handshake with a server that was reached and that did not refuse our access. */
class UnansweredHandshake extends SignalboxError {
  constructor(reason: string) {
    super('server_failed', reason);
  }
}

function bothFailed(first: UnansweredHandshake, second: UnansweredHandshake): SignalboxError {
  if (first.message === second.message) return second;
  const how = "without the question for the current revision, as with 'protocol: legacy'";
  return new SignalboxError('server_failed', `${first.message}; ${how}: ${second.message}`);
}

async function openHttp(
  config: HttpServerConfig,
  mode: 'legacy' | 'auto',
  options: ConnectOptions,
): Promise<ServerConnection> {
  const loss = new SessionLoss();
  const ping = () => client.ping({ timeout: pingMs });
  const check = new SessionCheck(loss, refusesSession, ping, options.known);
  let refusal: SignalboxError | undefined;
  const connections = lazyUpstreamFetch();
  const transport = httpTransport(
    config,
    {
      onUnreachable: (error) => loss.lose(failureOf(error).reason),
      onSessionRefused: (streaming) => {
        loss.lose('the server ended the session');
        if (streaming) transport.close();
      },
      onStreamTooLarge: (reason) => loss.lose(reason),
      onNoticesMissed: () => {
        options.onToolsChanged();
        options.onMcpContentChanged();
      },
      onSessionDoubted: () => void check.ask(),
      onUnauthorized: (error) => {
        refusal = error;
        // A missing scope concerns a single request, which may need more than the others.
        if (!isAboutScope(error)) loss.lose(error.message);
      },
    },
    { now: options.now, send: connections.fetch, authorizer: options.authorizer },
  );
  const endpoint = {
    pid: undefined,
    isOpen: true,
    stderrTail: () => '',
    close: async () => {
      loss.lose('was closed');
      await endSession(transport);
      await transport.close();
      await connections.close();
    },
  };
  const client = newClient(mode, Math.min(probeMs, Math.ceil(options.timeoutMs / 2)), options);
  try {
    await shakeHands(client, transport, options);
  } catch (error) {
    await endpoint.close();
    if (isOwnFace(error)) throw error;
    const { kind, reason } = failureOf(error);
    throw (
      refusal ??
      (kind === 'not_sent' ? new SignalboxError('server_failed', reason) : new UnansweredHandshake(reason))
    );
  }
  deliverProgressFirst(transport);
  if (client.getProtocolEra() === 'modern') refuseRequests(transport, options.onNoise);
  client.autoOpenedSubscription?.closed.then(() => loss.lose(subscriptionEnded));
  if (transport.sessionId !== undefined) void check.begin();
  return new SdkConnection(client, endpoint, loss, {
    limits: listLimitsOf(config),
    questions: options.questions,
    onLogMessage: options.onLogMessage,
    openOlder: (timeoutMs) => openHttp(config, 'legacy', { ...options, timeoutMs }),
    olderSessions: new OlderSessions({
      now: options.now,
      declaredFor: options.declaredFor,
      open: (declared, own) =>
        openHttp(config, 'legacy', {
          ...options,
          ...own,
          declared,
          questions: options.questionsOf(declared),
          onMcpContentChanged: () => {},
          onResourceUpdated: () => {},
        }),
      onFailed: (reason) => options.onNoise(`no session of an older revision: ${reason}`),
    }),
  });
}

/**
 * Workaround for the SDK 2.4.0: it ignores the signal while it asks for the revision, so an abort closes the transport. Rejects with
 * `serves_itself` if the server is a worker's face: its tools are ours, and listing them would list ours again, round after round.
 */
async function shakeHands(
  client: Client,
  transport: Transport,
  { timeoutMs, signal }: RequestLimits,
): Promise<void> {
  const close = () => transport.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    await client.connect(transport, { timeout: timeoutMs, signal });
    if (client.getServerCapabilities()?.experimental?.[workerFaceCapability] === undefined) return;
    throw new SignalboxError(
      'serves_itself',
      'it is a worker of Signalbox, whose tools would come back here as new ones; remove it from mcpServers',
    );
  } finally {
    signal.removeEventListener('abort', close);
  }
}

function isOwnFace(error: unknown): boolean {
  return error instanceof SignalboxError && error.code === 'serves_itself';
}

/** Ends a legacy session on the server too, unless that takes longer than a second. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  const ended = transport.terminateSession().catch(() => {});
  await within(ended, sessionEndMs);
}

/** Returns a {@link UpstreamFetch} that is opened by its first request: undici is slow to load, and few hosts have servers behind HTTP. */
function lazyUpstreamFetch(): UpstreamFetch {
  let opening: Promise<UpstreamFetch> | undefined;
  const open = async (): Promise<UpstreamFetch> => (await import('./upstream-fetch.ts')).openUpstreamFetch();
  const fetch: Fetch = async (url, init) => {
    opening ??= open();
    return (await opening).fetch(url, init);
  };
  return { fetch, close: async () => (await opening)?.close() };
}
