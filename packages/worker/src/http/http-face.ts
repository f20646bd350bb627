import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Log } from '@signalbox/client';
import { isLoopback, messageOf, SignalboxError } from '@signalbox/protocol';
import type { AgentToolsOptions } from '../face/agent-tools.ts';
import { AgentTable, type AgentTableOptions } from './agent-table.ts';
import { openFaceAgent } from './face-agent.ts';
import { facePath } from './request-check.ts';
import { createRequestHandler } from './request-handler.ts';

/** An import statement reads all that `node:http` exports, and some of it loads the whole of `fetch`. */
const { createServer } = process.getBuiltinModule('node:http');

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

export interface HttpFaceOptions extends AgentToolsOptions {
  /** Port 0 takes any free one. */
  listen: { host: string; port: number };
  /** Allow an address that other machines can reach: there is no encryption, tokens travel in the clear. */
  insecure?: boolean;
  /** How to reach the broker; the token and the agent come with each request. */
  connect: AgentTableOptions['connect'];
  /** The version that we report to clients. */
  version: string;
  /** Host names by which clients may reach the face, besides this machine's own; IPv6 addresses in brackets. */
  allowedHosts?: readonly string[];
  /** Longest silence while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  limits?: Partial<HttpFaceLimits>;
  /** Monotonic milliseconds. */
  now?: () => number;
  log?: Log;
}

/** An MCP server for any number of agents, over Streamable HTTP. */
export interface HttpFace extends AsyncDisposable {
  /** The address at which MCP is served, path included. */
  readonly url: string;
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
 * is first used. Rejects with `insecure_listen` for an address beyond loopback without
 * `insecure`, or with the error of node's `listen`.
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
  const serving = new Set<Promise<void>>();
  let ending = false;
  const serve = createRequestHandler({
    agents,
    hosts: ownNames(listen.host, options.allowedHosts ?? []),
    maxBodyBytes: limits.maxBodyBytes,
    isEnding: () => ending,
  });
  const server = createServer({
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: Math.min(limits.requestTimeoutMs, 10_000),
    connectionsCheckingInterval: Math.min(limits.requestTimeoutMs, 5_000),
    keepAliveTimeout: 65_000,
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const served = serve(request, response).catch((thrown) => {
      log({ event: 'http_face_failed', reason: messageOf(thrown) });
      response.destroy();
    });
    serving.add(served);
    void served.then(() => serving.delete(served));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, resolve);
  });
  const sweepMs = Math.max(10, Math.min(30_000, limits.agentIdleMs / 4, limits.sessionIdleMs / 4));
  const sweeper = setInterval(() => {
    agents.sweep().catch((thrown) => log({ event: 'http_face_failed', reason: messageOf(thrown) }));
  }, sweepMs);
  sweeper.unref();
  const { port } = server.address() as AddressInfo;

  async function end(): Promise<void> {
    clearInterval(sweeper);
    ending = true;
    const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
    await agents.close();
    await Promise.race([Promise.all(serving), new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
    server.closeAllConnections();
    await stopped;
  }
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return {
    url: `http://${host}:${port}${facePath}`,
    port,
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
