import type { IncomingMessage } from 'node:http';
import { type HttpRefusal, refusalResponse, unavailable } from '../sdk/http-refusal.ts';
import { type FaceRequest, mcpHeaders, takesEvents } from '../sdk/http-request.ts';
import type { AgentTable } from './agent-table.ts';
import { bearerToken } from './bearer-token.ts';
import type { RequestHandler } from './http-server.ts';
import { type ReadJson, readJsonBody } from './json-body.ts';
import { bodyEnd, paceBody } from './paced-body.ts';
import { refuseContent, refuseHead } from './request-check.ts';
import type { RequestPlace, RequestRoom } from './request-room.ts';
import { writeResponse } from './written-response.ts';

export interface RequestHandlerOptions {
  agents: AgentTable;
  /** Host names that requests may use for this face. */
  hosts: ReadonlySet<string>;
  maxBodyBytes: number;
  /** The claim of JSON Web Tokens that names the agent. */
  agentClaim: string | undefined;
  /** Bounds the memory of the requests that are being served. */
  room: RequestRoom;
  /** A client that reads nothing of its answer for this time is cut off, in milliseconds. */
  stallMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** Returns true when no new request is to be served. */
  isEnding: () => boolean;
}

/**
 * Makes the handler of HTTP requests. It checks the head of a request, then its token, reads the body only if the broker accepts the token,
 * and lets the agent answer. The handler resolves when the answer has left or the connection is closed.
 */
export function createRequestHandler(options: RequestHandlerOptions): RequestHandler {
  const { agents, hosts, maxBodyBytes, room, stallMs, now, isEnding } = options;
  return async (request, response, onAccepted) => {
    const refuse = (refusal: HttpRefusal, id?: string | number) =>
      writeResponse(refusalResponse(refusal, id), response, { stallMs });
    const refusal = refuseHead(request, hosts);
    if (refusal) return refuse(refusal);
    const bearer = bearerToken(request.headers.authorization, options.agentClaim);
    if ('status' in bearer) return refuse(bearer);
    const content = refuseContent(request, maxBodyBytes);
    if (content) return refuse(content);
    if (isEnding()) return refuse(unavailable('this face is ending'));
    const hangUp = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) hangUp.abort();
    });
    await agents.with(
      bearer,
      async (agent) => {
        onAccepted();
        using place = room.place(agent.executor.agent);
        paceBody(request, agent.bytes, now);
        const read = await readBody(request, maxBodyBytes, place);
        if (read.refusal) {
          // An agent that is refused for lack of memory must not be faster than one that is served.
          if (read.refusal.status === 429) await bodyEnd(request);
          return refuse(read.refusal, read.id);
        }
        const answer = await agent.answer(faceRequest(request, read.json, hangUp.signal));
        await writeResponse(answer, response, { stallMs, onWaiting: (bytes) => place.hold({ bytes }) });
      },
      refuse,
    );
  };
}

/** Reads the body of a request that has one. A request of the other methods is short, and a stream belongs to its session. */
async function readBody(
  request: IncomingMessage,
  maxBodyBytes: number,
  place: RequestPlace,
): Promise<ReadJson> {
  if (request.method !== 'POST') return { json: undefined };
  const refusal = place.take({ requests: 1 });
  if (refusal) return { refusal };
  const read = await readJsonBody(request, maxBodyBytes, place);
  if (!read.refusal && Array.isArray(read.json)) {
    const message = 'send one message at a time: batches are not served';
    return { refusal: { status: 400, code: -32600, message } };
  }
  return read;
}

function faceRequest(
  { method = '', headers }: IncomingMessage,
  message: unknown,
  signal: AbortSignal,
): FaceRequest {
  return { method, headers: mcpHeaders(headers), message, streams: takesEvents(headers.accept), signal };
}
