import type { Log } from '@signalbox/client';
import { isLoopback, messageOf, SignalboxError } from '@signalbox/protocol';
import { loopbackNames } from '@signalbox/protocol/internal';
import { defaultFaceLimits, type FaceLimits } from '@signalbox/serving';
import { nameFor, type TlsPair } from '@signalbox/serving/tls';
import type { AgentToolsOptions } from '../face/agent-tools.ts';
import { pastRoom } from '../sdk/past-answers.ts';
import { AgentTable, type AgentTableOptions } from './agent-table.ts';
import { openFaceAgent } from './face-agent.ts';
import { FaceRoom } from './face-room.ts';
import { startHttpServer } from './http-server.ts';
import { facePath } from './request-check.ts';
import { createRequestHandler } from './request-handler.ts';

/** Times of an HTTP face, in milliseconds. */
export interface HttpFaceTimes {
  /** The longest time for a request to arrive whole, and for a client to read nothing of its answer; default 30 s. */
  requestTimeoutMs: number;
  /** The longest time for an agent's connection to the broker and its list of tools; default 5 s. */
  connectTimeoutMs: number;
  /** The wait after which a request gets a stream, which shows that it is being served; default 25 s. */
  silenceMs: number;
}

/** The address, the limits and the tools of an HTTP face. */
export interface HttpFaceOptions extends AgentToolsOptions {
  /** The address to listen on. Port 0 takes any free one. */
  listen: { host: string; port: number };
  /** The certificate and the key that encrypt connections. Without them, connections are not encrypted. */
  tls?: TlsPair;
  /** Allows an address that other machines can reach without TLS, although tokens and calls then cross the network unencrypted. */
  insecure?: boolean;
  /** The claim of an identity provider's tokens that names the agent; default `sub`. */
  agentClaim?: string;
  /** The address of the broker and the options of the connections; the token and the agent come with each request. */
  connect: AgentTableOptions['connect'];
  /** The version that we report to clients. */
  version: string;
  /** Host names by which clients may reach the face, besides this machine's own; IPv6 addresses in brackets. */
  allowedHosts?: readonly string[];
  /** The longest silence in milliseconds while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  /** Limits that replace the defaults in `faceLimits`. */
  limits?: Partial<FaceLimits>;
  /** Times that replace the defaults. */
  times?: Partial<HttpFaceTimes>;
  /** Returns monotonic milliseconds. */
  now?: () => number;
  /** Called with each event of the face and of its agents' connections. */
  log?: Log;
}

/** An MCP server for any number of agents, over Streamable HTTP. */
export interface HttpFace extends AsyncDisposable {
  /** The address at which MCP is served, path included. */
  readonly url: string;
  /** The port at which the face listens. */
  readonly port: number;
  /** Encrypts new connections with another certificate and key. Throws if they can't be used. */
  setTls(pair: TlsPair): void;
  /** The number of agents that are connected to the broker now. */
  readonly agentCount: number;
  /** Cancels the running calls, lets their failures reach the clients, and ends everything. */
  close(): Promise<void>;
}

const defaultTimes: HttpFaceTimes = {
  requestTimeoutMs: 30_000,
  connectTimeoutMs: 5_000,
  // Common clients give up a request after 30 s to 300 s of silence.
  silenceMs: 25_000,
};

/**
 * Serves the tools of many agents at one address. Each request names its agent by a token; the broker checks the token when it
 * is first used. Rejects with `insecure_listen` for an address beyond loopback without `tls` and `insecure`, or with the error of Node's
 * `listen`.
 */
export async function serveHttpFace(options: HttpFaceOptions): Promise<HttpFace> {
  const { listen, tls, connect, now = () => performance.now(), log = () => {} } = options;
  if (!isLoopback(listen.host) && !tls && !options.insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `listening on '${listen.host}' would send tokens and calls unencrypted over the network; encrypt it with --tls-cert and --tls-key, use 127.0.0.1, or accept it with --insecure`,
    );
  }
  const limits = { ...defaultFaceLimits, ...options.limits };
  const times = { ...defaultTimes, ...options.times };
  const room = pastRoom();
  const agents = new AgentTable({
    connect: { ...connect, log },
    connectTimeoutMs: times.connectTimeoutMs,
    maxAgents: limits.agents,
    idleMs: limits.agentIdleMs,
    now,
    log,
    open: (executor, sessionIds) =>
      openFaceAgent(executor, {
        ...options,
        sessionIds,
        maxSessions: limits.sessionsPerAgent,
        bytesPerSecond: limits.bytesPerSecond,
        sessionIdleMs: limits.sessionIdleMs,
        pastRoom: room,
        now,
        log,
      }),
  });
  let ending = false;
  const handle = createRequestHandler({
    agents,
    hosts: ownNames(listen.host, [
      ...(tls ? [nameFor(listen.host, tls)] : []),
      ...(options.allowedHosts ?? []),
    ]),
    maxBodyBytes: limits.bodyBytes,
    agentClaim: options.agentClaim,
    room: new FaceRoom(limits),
    stallMs: times.requestTimeoutMs,
    silenceMs: times.silenceMs,
    now,
    isEnding: () => ending,
  });
  const reportFailure = (thrown: unknown): void =>
    log({ event: 'http_face_failed', reason: messageOf(thrown) });
  const server = await startHttpServer(handle, {
    ...listen,
    requestTimeoutMs: times.requestTimeoutMs,
    maxIdleConnections: limits.idleConnections,
    ...(tls && { tls }),
    now,
    onFailure: reportFailure,
  });
  const sweepMs = Math.max(10, Math.min(30_000, limits.agentIdleMs / 4, limits.sessionIdleMs / 4));
  const sweeper = setInterval(() => {
    agents.sweep().catch(reportFailure);
    const evicted = server.takeEvicted();
    if (evicted > 0)
      log({ event: 'face_connections_evicted', times: evicted, limit: limits.idleConnections });
  }, sweepMs);
  sweeper.unref();

  async function end(): Promise<void> {
    clearInterval(sweeper);
    ending = true;
    const stopped = server.stopListening();
    // The stack runs these steps from the last to the first, even if some of them fail.
    await using steps = new AsyncDisposableStack();
    steps.defer(() => stopped);
    steps.defer(() => server.closeConnections());
    steps.defer(() => agents.close());
  }
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  const name = tls ? nameFor(listen.host, tls) : listen.host;
  const host = name.includes(':') ? `[${name}]` : name;
  return {
    url: `${tls ? 'https' : 'http'}://${host}:${server.port}${facePath}`,
    port: server.port,
    setTls: server.setTls,
    get agentCount() {
      return agents.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the host names that requests may use: this machine's names, the listener's, and the given ones. */
function ownNames(host: string, given: readonly string[]): ReadonlySet<string> {
  const isAny = host === '0.0.0.0' || host === '::';
  const bound = host.includes(':') ? `[${host}]` : host;
  const names = [...loopbackNames, ...(isAny ? [] : [bound]), ...given];
  return new Set(names.map((name) => name.toLowerCase()));
}
