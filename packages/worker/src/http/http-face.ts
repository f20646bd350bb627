import type { Log } from '@signalbox/client';
import { isLoopback, messageOf, SignalboxError } from '@signalbox/protocol';
import type { AgentToolsOptions } from '../face/agent-tools.ts';
import { AgentTable, type AgentTableOptions } from './agent-table.ts';
import { openFaceAgent } from './face-agent.ts';
import { startHttpServer } from './http-server.ts';
import { facePath } from './request-check.ts';
import { createRequestHandler } from './request-handler.ts';

/** Bounds of an HTTP face; times in milliseconds. */
export interface HttpFaceLimits {
  /** The most tokens that are connected at a time; default 256. */
  maxAgents: number;
  /** The most sessions of one token at a time, for clients of the revisions up to 2025-11-25; default 32. */
  maxSessionsPerAgent: number;
  /** The largest body of a request; default 4 MiB. */
  maxBodyBytes: number;
  /** How long a request may take to arrive whole; default 30 s. */
  requestTimeoutMs: number;
  /** How long an agent's connection to the broker and its list of tools may take; default 5 s. */
  connectTimeoutMs: number;
  /** An agent without request, stream and session is disconnected after this time; default 10 min. */
  agentIdleMs: number;
  /** A session without request and stream ends after this time; default 30 min. */
  sessionIdleMs: number;
}

/** How an HTTP face listens, and what its agents are shown. */
export interface HttpFaceOptions extends AgentToolsOptions {
  /** The address to listen on. Port 0 takes any free one. */
  listen: { host: string; port: number };
  /** Allows an address that other machines can reach, although nothing is encrypted, tokens included. */
  insecure?: boolean;
  /** How to reach the broker; the token and the agent come with each request. */
  connect: AgentTableOptions['connect'];
  /** The version that we report to clients. */
  version: string;
  /** Host names by which clients may reach the face, besides this machine's own; IPv6 addresses in brackets. */
  allowedHosts?: readonly string[];
  /** The longest silence while a call runs whose client asked for progress, in milliseconds; default 15 s. */
  heartbeatMs?: number;
  /** Limits that replace the defaults. */
  limits?: Partial<HttpFaceLimits>;
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
  /** The number of agents that are connected to the broker now. */
  readonly agentCount: number;
  /** Cancels the calls that run, lets their failures reach the clients, and ends everything. */
  close(): Promise<void>;
}

const defaultLimits: HttpFaceLimits = {
  maxAgents: 256,
  maxSessionsPerAgent: 32,
  maxBodyBytes: 4 * 1024 * 1024,
  requestTimeoutMs: 30_000,
  connectTimeoutMs: 5_000,
  agentIdleMs: 10 * 60_000,
  sessionIdleMs: 30 * 60_000,
};

/**
 * Serves the tools of many agents at one address. Each request names its agent by a token; the broker checks the token when it
 * is first used. Rejects with `insecure_listen` for an address beyond loopback without `insecure`, or with the error of Node's
 * `listen`.
 */
export async function serveHttpFace(options: HttpFaceOptions): Promise<HttpFace> {
  const { listen, connect, now = () => performance.now(), log = () => {} } = options;
  if (!isLoopback(listen.host) && !options.insecure) {
    throw new SignalboxError(
      'insecure_listen',
      `listening on '${listen.host}' would send tokens and calls unencrypted over the network; use 127.0.0.1, or accept it with --insecure`,
    );
  }
  const limits = { ...defaultLimits, ...options.limits };
  const agents = new AgentTable({
    connect: { ...connect, log },
    connectTimeoutMs: limits.connectTimeoutMs,
    maxAgents: limits.maxAgents,
    idleMs: limits.agentIdleMs,
    now,
    log,
    open: (executor) =>
      openFaceAgent(executor, {
        ...options,
        maxSessions: limits.maxSessionsPerAgent,
        sessionIdleMs: limits.sessionIdleMs,
        now,
        log,
      }),
  });
  let ending = false;
  const handle = createRequestHandler({
    agents,
    hosts: ownNames(listen.host, options.allowedHosts ?? []),
    maxBodyBytes: limits.maxBodyBytes,
    isEnding: () => ending,
  });
  const reportFailure = (thrown: unknown): void =>
    log({ event: 'http_face_failed', reason: messageOf(thrown) });
  const server = await startHttpServer(handle, {
    ...listen,
    requestTimeoutMs: limits.requestTimeoutMs,
    onFailure: reportFailure,
  });
  const sweepMs = Math.max(10, Math.min(30_000, limits.agentIdleMs / 4, limits.sessionIdleMs / 4));
  const sweeper = setInterval(() => {
    agents.sweep().catch(reportFailure);
  }, sweepMs);
  sweeper.unref();

  async function end(): Promise<void> {
    clearInterval(sweeper);
    ending = true;
    const stopped = server.stopListening();
    await agents.close();
    await server.closeConnections();
    await stopped;
  }
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${server.port}${facePath}`,
    port: server.port,
    get agentCount() {
      return agents.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the host names that requests may use: this machine's, the one of the listener, and those that were given. */
function ownNames(host: string, given: readonly string[]): ReadonlySet<string> {
  const isAny = host === '0.0.0.0' || host === '::';
  const bound = host.includes(':') ? `[${host}]` : host;
  const names = ['localhost', '127.0.0.1', '[::1]', ...(isAny ? [] : [bound]), ...given];
  return new Set(names.map((name) => name.toLowerCase()));
}
