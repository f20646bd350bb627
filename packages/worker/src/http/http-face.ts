import type { Log } from '@signalbox/client';
import { defaultFaceLimits } from '@signalbox/serving';
import { type ExecutorOptions, McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { AgentToolsOptions } from '../face/agent-tools.ts';
import type { HttpRefusal } from '../sdk/http-refusal.ts';
import { eventsIn, isJsonContentType } from '../sdk/http-request.ts';
import { pastRoom } from '../sdk/past-answers.ts';
import { sessionIdsOf } from '../sdk/session-id.ts';
import {
  type AgentServer,
  type AgentServerOptions,
  type AgentServerTimes,
  startAgentServer,
} from './agent-server.ts';
import { type FaceAgent, openFaceAgent } from './face-agent.ts';
import { pathOf, type RequestHead } from './request-check.ts';

/** Times of an HTTP face, in milliseconds. */
export interface HttpFaceTimes extends AgentServerTimes {
  /** The wait after which a request gets a stream, which shows that it is being served; default 25 s. */
  silenceMs: number;
}

/** The address, the limits and the tools of an HTTP face. */
export interface HttpFaceOptions extends AgentToolsOptions, Omit<AgentServerOptions, 'times' | 'log'> {
  /** The address of the broker and the options of the connections; the token and the agent come with each request. */
  connect: Omit<ExecutorOptions, 'token' | 'agent' | 'signal' | 'waitForBroker' | 'manifestTimeoutMs'>;
  /** The version that we report to clients. */
  version: string;
  /** The longest silence in milliseconds while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  /** Times that replace the defaults. */
  times?: Partial<HttpFaceTimes>;
  /** Called with each event of the face and of its agents' connections. */
  log?: Log;
}

/** An MCP server for any number of agents, over Streamable HTTP. */
export interface HttpFace extends AgentServer {
  /** The address at which MCP is served, path included. */
  readonly url: string;
}

// Common clients give up a request after 30 s to 300 s of silence.
const defaultSilenceMs = 25_000;
/** The path at which the face is served; a slash may follow it. */
const facePath = '/mcp';
const methods = ['GET', 'POST', 'DELETE'];

/** Checks path and method of a request. Returns the reason why it is refused, or `undefined`. */
export function refuseTarget(head: RequestHead): HttpRefusal | undefined {
  const { method = '' } = head;
  const path = pathOf(head);
  if (path !== facePath && path !== `${facePath}/`)
    return { status: 404, message: `nothing is here: MCP is served at ${facePath}` };
  if (methods.includes(method)) return undefined;
  return {
    status: 405,
    message: `${method} is not served: use POST, or GET and DELETE within a session`,
    headers: { allow: methods.join(', ') },
  };
}

/**
 * Serves the tools of many agents at one address. Each request names its agent by a token; the broker checks the token when it
 * is first used. Rejects with `insecure_listen` for an address beyond loopback without `tls` and `insecure`, or with the error of Node's
 * `listen`.
 */
export async function serveHttpFace(options: HttpFaceOptions): Promise<HttpFace> {
  const { connect, now = () => performance.now(), log = () => {} } = options;
  const limits = { ...defaultFaceLimits, ...options.limits };
  const room = pastRoom();
  const server = await startAgentServer<FaceAgent>(options, {
    encryptedBy: '--tls-cert and --tls-key',
    maxBodyBytes: limits.bodyBytes,
    isJson: isJsonContentType,
    refuseTarget,
    events: ({ accept }) => eventsIn(accept),
    silenceMs: options.times?.silenceMs ?? defaultSilenceMs,
    sweepMs: limits.sessionIdleMs / 4,
    answer: (agent, request, reply) => agent.answer(request, reply),
    async connect({ token, agent }, { signal, timeoutMs }) {
      // Half of the time, so that the error can name the missing part: the orchestrator, not the broker.
      const manifestTimeoutMs = timeoutMs / 2;
      const executor = await McpProxyExecutor.connect({
        ...connect,
        log,
        token,
        agent,
        signal,
        manifestTimeoutMs,
      });
      return openFaceAgent(executor, {
        ...options,
        sessionIds: sessionIdsOf(token),
        maxSessions: limits.sessionsPerAgent,
        bytesPerSecond: limits.bytesPerSecond,
        sessionIdleMs: limits.sessionIdleMs,
        pastRoom: room,
        now,
        log,
      });
    },
  });
  return Object.assign(server, { url: `${server.origin}${facePath}` });
}
