import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { defaultFaceLimits, type FaceLimits, messageOf, SignalboxError } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { IdleConnections } from '../http/idle-connections.ts';
import { RecentRefusals } from '../http/recent-refusals.ts';
import { RequestRoom } from '../http/request-room.ts';
import { AgentPlaces, type SessionPlace } from './agent-places.ts';
import { AgentShares } from './agent-shares.ts';
import { type FaceHello, type FaceRefusal, type HintQuestion, readFirstLine } from './face-lines.ts';
import {
  closeSocket,
  connectAgent,
  type FaceSession,
  type FaceSessionOptions,
  openSession,
  refusalOf,
  writeLine,
} from './face-session.ts';
import { openFaceSocket } from './face-socket.ts';
import { firstLine } from './first-line.ts';

/** Options of a shared face: its socket, and the tools of its agents. */
export interface SharedFaceOptions
  extends Omit<FaceSessionOptions, 'aliases' | 'connectTimeoutMs' | 'limits' | 'log' | 'now' | 'room'>,
    Partial<Pick<FaceSessionOptions, 'aliases' | 'connectTimeoutMs' | 'log'>> {
  /** Limits that replace the defaults, which `faceLimits` has. */
  limits?: Partial<FaceLimits>;
  /** The longest time for a shim's first line, in milliseconds; default 5 s. */
  helloTimeoutMs?: number;
  /** The path of the Unix socket. */
  path: string;
  /** Called at what happens to the sessions of agents. */
  onSession?: (event: FaceSessionEvent) => void;
  /** Returns monotonic milliseconds. */
  now?: () => number;
}

/** An event of a session: its shim was welcomed, its client listed the tools for the first time, its connection ended. */
export interface FaceSessionEvent {
  event: 'connected' | 'listed' | 'ended';
  agent: string;
  /** Names the shim, which keeps it over its connections. */
  consumer: string;
}

/** A face for the shims of many agents. */
export interface SharedFace extends AsyncDisposable {
  /** The path of the socket, without symbolic links in its directory. */
  readonly path: string;
  /** The number of shims that are served. */
  readonly sessionCount: number;
  /** Ends all sessions, but not their calls, which the next face picks up, and removes the socket. */
  close(): Promise<void>;
}

const defaultConnectTimeoutMs = 10_000;
const defaultHelloTimeoutMs = 5_000;
const maxHelloBytes = 64 * 1024;
const refusedForMs = 30_000;
const maxRefused = 1_000;
/** The refusals of a token that stay so, whenever it is shown again. */
const lasting = new Set(['unauthorized', 'forged_sender', 'forbidden']);

/**
 * Serves the tools of many agents on a Unix socket, one connection for each shim. The broker decides about each shim's token.
 * Rejects as {@link openFaceSocket}.
 */
export async function serveSharedFace(given: SharedFaceOptions): Promise<SharedFace> {
  const { path, onSession = () => {}, now = () => performance.now(), log = () => {} } = given;
  const limits = { ...defaultFaceLimits, ...given.limits };
  const options = {
    ...given,
    limits,
    room: new RequestRoom(limits),
    now,
    log,
    aliases: given.aliases ?? [],
    connectTimeoutMs: given.connectTimeoutMs ?? defaultConnectTimeoutMs,
  };
  const helloLimits = { maxBytes: maxHelloBytes, timeoutMs: given.helloTimeoutMs ?? defaultHelloTimeoutMs };
  const sessions = new Set<FaceSession>();
  /** Connections that have not said hello, or are told something and closed. */
  const strangers = new IdleConnections(limits.idleConnections);
  const places = new AgentPlaces(limits);
  const shares = new AgentShares(limits, now);
  const serving = new Set<Promise<void>>();
  const refused = new RecentRefusals<FaceRefusal>({ forMs: refusedForMs, maxEntries: maxRefused, now });
  const ending = new AbortController();

  async function serve(socket: Socket): Promise<void> {
    socket.on('error', () => socket.destroy());
    strangers.opened(socket);
    const line = await firstLine(socket, { ...helloLimits, signal: ending.signal });
    if (line === undefined) {
      socket.destroy();
      return;
    }
    try {
      const hello = readFirstLine(line);
      if ('signalbox_hint' in hello) return await answerHook(socket, hello);
      const token = createHash('sha256')
        .update(`${hello.agent ?? ''}\n${hello.token}`)
        .digest('base64');
      const known = refused.get(token);
      if (known) throw new SignalboxError(known.code, known.message, { details: { hint: known.hint } });
      using place = places.take(token);
      strangers.isBusy(socket);
      const executor = await connectAgent(hello, options, ending.signal).catch((thrown) => {
        const refusal = refusalOf(thrown);
        if (lasting.has(refusal.code)) refused.add(token, refusal);
        throw thrown;
      });
      place.connected();
      await serveAgent(socket, hello, executor, place);
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      log({ event: 'face_refused', code: refusal.code, reason: refusal.message });
      writeLine(socket, { refused: refusal });
      closeSocket(socket);
    }
  }

  /** Tells a hook what is new for its agent, if a shim of the agent is served. The broker is asked over that shim's connection only. */
  async function answerHook(socket: Socket, question: HintQuestion): Promise<void> {
    const session = [...sessions].findLast((one) => one.isOf(question));
    const found = await session?.newMailHint();
    writeLine(socket, { hint: found?.hint ?? null });
    closeSocket(socket);
  }

  async function serveAgent(
    socket: Socket,
    hello: FaceHello,
    executor: McpProxyExecutor,
    { mentioned }: SessionPlace,
  ): Promise<void> {
    const { agent } = executor;
    const { consumer } = hello;
    const onListed = () => onSession({ event: 'listed', agent, consumer });
    using used = shares.use(agent);
    const own = { mentioned, share: used.share, onListed };
    const session = openSession(socket, hello, executor, { ...options, ...own });
    sessions.add(session);
    log({ event: 'face_session_opened', agent, sessions: sessions.size });
    onSession({ event: 'connected', agent, consumer });
    await session.closed;
    sessions.delete(session);
    log({ event: 'face_session_ended', agent, sessions: sessions.size });
    onSession({ event: 'ended', agent, consumer });
  }

  const server = await openFaceSocket(path, (socket) => {
    const served = serve(socket).catch((thrown) => {
      log({ event: 'shared_face_failed', reason: messageOf(thrown) });
      socket.destroy();
    });
    serving.add(served);
    void served.then(() => serving.delete(served));
  });

  async function end(): Promise<void> {
    ending.abort();
    const stopped = server.close();
    const reason = { code: 'shutting_down', message: 'this face is ending', retryable: true };
    await Promise.all([...sessions].map((session) => session.end(reason)));
    await Promise.all(serving);
    await stopped;
  }
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  return {
    path: server.path,
    get sessionCount() {
      return sessions.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
