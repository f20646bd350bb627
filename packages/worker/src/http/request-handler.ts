import type { IncomingMessage } from 'node:http';
import { unavailable } from '../sdk/http-refusal.ts';
import { takesEvents } from '../sdk/http-request.ts';
import type { AgentTable } from './agent-table.ts';
import { bearerToken } from './bearer-token.ts';
import type { FaceRoom, FaceSlot } from './face-room.ts';
import type { RequestHandler } from './http-server.ts';
import { bodyEnd, paceBody, type ReadJson, readJsonBody } from './json-body.ts';
import { refuseContent, refuseHead } from './request-check.ts';
import { WrittenReply } from './written-reply.ts';

export interface RequestHandlerOptions {
  agents: AgentTable;
  /** Host names that requests may use for this face. */
  hosts: ReadonlySet<string>;
  maxBodyBytes: number;
  /** The claim of JSON Web Tokens that names the agent. */
  agentClaim: string | undefined;
  /** Bounds the memory of the requests that are being served. */
  room: FaceRoom;
  /** The time in milliseconds after which a client that reads nothing of its answer is disconnected. */
  stallMs: number;
  /** See `HttpFaceTimes.silenceMs`. */
  silenceMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Returns true when no new request is to be served. */
  isEnding: () => boolean;
}

/**
 * Makes the handler of HTTP requests. It checks the head of a request, then its token, reads the body only if the broker accepts the token,
 * and lets the agent answer.
 */
export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  const { agents, hosts, maxBodyBytes, room, stallMs, silenceMs, now, isEnding } = options;
  return async (request, response, onAccepted) => {
    const { method = '', headers } = request;
    const reply = new WrittenReply(response, { stallMs, takesEvents: takesEvents(headers.accept) });
    const refusal = refuseHead(request, hosts);
    if (refusal) return reply.refuse(refusal);
    const bearer = bearerToken(headers.authorization, options.agentClaim);
    if ('status' in bearer) return reply.refuse(bearer);
    const content = refuseContent(request, maxBodyBytes);
    if (content) return reply.refuse(content);
    if (isEnding()) return reply.refuse(unavailable('this face is ending'));
    const given = agents.use(bearer);
    const use = given instanceof Promise ? await given : given;
    if ('status' in use) return reply.refuse(use);
    const { agent } = use;
    const slot = room.slot(agent.executor.agent);
    reply.onWaiting = (bytes) => slot.hold({ bytes });
    const leave = () => {
      slot[Symbol.dispose]();
      use.end();
    };
    if (reply.isClosed) return leave();
    reply.onClosed = leave;
    onAccepted();
    paceBody(request, agent.bytes, now);
    const reading = readBody(request, maxBodyBytes, slot);
    const read = reading instanceof Promise ? await reading : reading;
    if (read.refusal) {
      // An agent that is refused for lack of memory must not be faster than one that is served.
      if (read.refusal.status === 429) await bodyEnd(request);
      return reply.refuse(read.refusal, read.id);
    }
    if (method === 'POST') reply.openAfter(silenceMs);
    await agent.answer({ method, headers, message: read.json }, reply);
  };
}

/** Reads the body of a request that has one. A request of the other methods is short, and a stream belongs to its session. */
function readBody(
  request: IncomingMessage,
  maxBodyBytes: number,
  slot: FaceSlot,
): ReadJson | Promise<ReadJson> {
  if (request.method !== 'POST') return { json: undefined };
  const refusal = slot.take({ requests: 1 });
  return refusal ? { refusal } : readJsonBody(request, maxBodyBytes, slot);
}
