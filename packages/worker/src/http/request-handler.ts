import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type HttpRefusal, unavailable } from '../sdk/http-refusal.ts';
import type { EventsTaken, HttpReply } from '../sdk/http-reply.ts';
import type { AgentTable, TableAgent } from './agent-table.ts';
import { bearerToken } from './bearer-token.ts';
import type { FaceRoom, FaceSlot } from './face-room.ts';
import type { RequestHandler } from './http-server.ts';
import { bodyEnd, paceBody, type ReadJson, readJsonBody } from './json-body.ts';
import { type ContentRules, type RequestHead, refuseContent, refuseHost } from './request-check.ts';
import { WrittenReply } from './written-reply.ts';

/** A request that may be served: its head was checked, its token verified, its body read. */
export interface AgentRequest {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** The JSON of a POST. */
  message: unknown;
}

/** The requests that are served, and their answers. */
export interface RequestRules<A extends TableAgent> extends ContentRules {
  /** Checks path and method. Returns the reason why a request is refused, or `undefined`. */
  refuseTarget: (head: RequestHead) => HttpRefusal | undefined;
  /** Answers a request that needs no token. Returns false if it needs one. */
  answerAnyone?: (head: RequestHead, reply: HttpReply) => boolean;
  /** Returns whether the client of a request takes a stream of events. */
  events: (headers: IncomingHttpHeaders) => EventsTaken;
  /** True if a POST may have no body. */
  allowsNoBody?: boolean;
  /** The wait in milliseconds after which a request gets a stream, which shows that it is being served; by default none gets one. */
  silenceMs?: number;
  /** Answers a request, also after it has resolved. Never rejects. */
  answer: (agent: A, request: AgentRequest, reply: HttpReply) => Promise<void>;
}

export interface RequestHandlerOptions<A extends TableAgent> extends RequestRules<A> {
  agents: AgentTable<A>;
  /** Host names that requests may use for this face. */
  hosts: ReadonlySet<string>;
  /** The claim of JSON Web Tokens that names the agent. */
  agentClaim: string | undefined;
  /** Bounds the memory of the requests that are being served. */
  room: FaceRoom;
  /** The time in milliseconds after which a client that reads nothing of its answer is disconnected. */
  stallMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Returns true when no new request is to be served. */
  isEnding: () => boolean;
}

/**
 * Makes the handler of HTTP requests. It checks the head of a request, then its token, reads the body only if the broker accepts the token,
 * and lets the agent answer.
 */
export function createRequestHandler<A extends TableAgent>(
  options: RequestHandlerOptions<A>,
): RequestHandler {
  const { agents, hosts, room, stallMs, silenceMs, now, isEnding } = options;
  return async (request, response, onAccepted) => {
    const { method = '', url = '', headers } = request;
    const reply = new WrittenReply(response, { stallMs, events: options.events(headers) });
    const refusal = refuseHost(request, hosts) ?? options.refuseTarget(request);
    if (refusal) return reply.refuse(refusal);
    if (options.answerAnyone?.(request, reply)) return;
    const bearer = bearerToken(headers.authorization, options.agentClaim);
    if ('status' in bearer) return reply.refuse(bearer);
    const content = refuseContent(request, options);
    if (content) return reply.refuse(content);
    if (isEnding()) return reply.refuse(unavailable('this face is ending'));
    const given = agents.use(bearer);
    const use = given instanceof Promise ? await given : given;
    if ('status' in use) return reply.refuse(use);
    const { agent } = use;
    const slot = room.slot(agent.agent);
    reply.onWaiting = (bytes) => slot.hold({ bytes });
    const leave = () => {
      slot[Symbol.dispose]();
      use.end();
    };
    if (reply.isClosed) return leave();
    reply.onClosed = leave;
    onAccepted();
    paceBody(request, agent.bytes, now);
    const reading = readBody(request, slot, options);
    const read = reading instanceof Promise ? await reading : reading;
    if (read.refusal) {
      // An agent that is refused for lack of memory must not be faster than one that is served.
      if (read.refusal.status === 429) await bodyEnd(request);
      return reply.refuse(read.refusal, read.id);
    }
    if (method === 'POST' && silenceMs !== undefined) reply.openAfter(silenceMs);
    await options.answer(agent, { method, url, headers, message: read.json }, reply);
  };
}

/** Reads the body of a request that has one. A request of the other methods is short, and a stream belongs to its session. */
function readBody(
  request: IncomingMessage,
  slot: FaceSlot,
  { maxBodyBytes, allowsNoBody }: Pick<RequestRules<TableAgent>, 'maxBodyBytes' | 'allowsNoBody'>,
): ReadJson | Promise<ReadJson> {
  const { method, headers } = request;
  const hasNone = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
  if (method !== 'POST') return { json: undefined };
  const refusal = slot.take({ requests: 1 });
  if (refusal) return { refusal };
  return allowsNoBody && hasNone ? { json: undefined } : readJsonBody(request, maxBodyBytes, slot);
}
