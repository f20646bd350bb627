import type { Log } from '@signalbox/client';
import { isLoopback, messageOf, SignalboxError } from '@signalbox/protocol';
import { loopbackNames } from '@signalbox/protocol/internal';
import { defaultFaceLimits, type FaceLimits } from '@signalbox/serving';
import { nameFor, type TlsPair } from '@signalbox/serving/tls';
import { AgentTable, type AgentTableOptions, type TableAgent } from './agent-table.ts';
import { FaceRoom } from './face-room.ts';
import { startHttpServer } from './http-server.ts';
import { createRequestHandler, type RequestRules } from './request-handler.ts';

/** Times of a server for agents, in milliseconds. */
export interface AgentServerTimes {
  /** The longest time for a request to arrive whole, and for a client to read nothing of its answer; default 30 s. */
  requestTimeoutMs: number;
  /** The longest time for an agent's connection to the broker, and its list of tools; default 5 s. */
  connectTimeoutMs: number;
}

/** The address and the limits of a server for agents. */
export interface AgentServerOptions {
  /** The address to listen on. Port 0 takes any free one. */
  listen: { host: string; port: number };
  /** The certificate and the key that encrypt connections. Without them, connections are not encrypted. */
  tls?: TlsPair;
  /** Allows an address that other machines can reach without TLS, although tokens and calls then cross the network unencrypted. */
  insecure?: boolean;
  /** The claim of an identity provider's tokens that names the agent; default `sub`. */
  agentClaim?: string;
  /** Host names by which clients may reach the server, besides this machine's own; IPv6 addresses in brackets. */
  allowedHosts?: readonly string[];
  /** Limits that replace the defaults in `faceLimits`. */
  limits?: Partial<FaceLimits>;
  /** Times that replace the defaults. */
  times?: Partial<AgentServerTimes>;
  /** Returns monotonic milliseconds. */
  now?: () => number;
  /** Called with each event of the server. */
  log?: Log;
}

/** The requests that a server for agents takes, and how it connects an agent. */
export interface AgentServerRules<A extends TableAgent> extends RequestRules<A> {
  connect: AgentTableOptions<A>['connect'];
  /** The options or the key of the configuration that encrypt connections. */
  encryptedBy: string;
  /** The time between two sweeps of the agents in milliseconds, if it is less than a quarter of `limits.agentIdleMs`. */
  sweepMs?: number;
}

/** An HTTP server whose requests name agents by their tokens. */
export interface AgentServer extends AsyncDisposable {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The port at which the server listens. */
  readonly port: number;
  /** Encrypts new connections with another certificate and key. Throws if they can't be used. */
  setTls(pair: TlsPair): void;
  /** The number of agents that are connected to the broker now. */
  readonly agentCount: number;
  /** Cancels the running calls, lets their failures reach the clients, and ends everything. */
  close(): Promise<void>;
}

const defaultTimes: AgentServerTimes = { requestTimeoutMs: 30_000, connectTimeoutMs: 5_000 };

/**
 * Serves requests of many agents at one address. Each request names its agent by a token; the broker checks the token when it is first
 * used. Rejects with `insecure_listen` for an address beyond loopback without `tls` and `insecure`, or with the error of Node's `listen`.
 */
export async function startAgentServer<A extends TableAgent>(
  options: AgentServerOptions,
  rules: AgentServerRules<A>,
): Promise<AgentServer> {
  const { listen, tls, now = () => performance.now(), log = () => {} } = options;
  if (!isLoopback(listen.host) && !tls && !options.insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `listening on '${listen.host}' would send tokens and calls unencrypted over the network; encrypt it with ${rules.encryptedBy}, use 127.0.0.1, or accept it with --insecure`,
    );
  }
  const limits = { ...defaultFaceLimits, ...options.limits };
  const times = { ...defaultTimes, ...options.times };
  const agents = new AgentTable<A>({
    connect: rules.connect,
    connectTimeoutMs: times.connectTimeoutMs,
    maxAgents: limits.agents,
    idleMs: limits.agentIdleMs,
    now,
    log,
  });
  let ending = false;
  const handle = createRequestHandler({
    ...rules,
    agents,
    hosts: ownNames(listen.host, [
      ...(tls ? [nameFor(listen.host, tls)] : []),
      ...(options.allowedHosts ?? []),
    ]),
    agentClaim: options.agentClaim,
    room: new FaceRoom(limits),
    stallMs: times.requestTimeoutMs,
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
  const { sweepMs: wanted = Number.POSITIVE_INFINITY } = rules;
  const sweepMs = Math.max(10, Math.min(30_000, limits.agentIdleMs / 4, wanted));
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
    origin: `${tls ? 'https' : 'http'}://${host}:${server.port}`,
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
