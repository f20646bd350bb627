import type { IncomingMessage, ServerResponse } from 'node:http';
import { type HttpRefusal, refusalResponse, unavailable } from '../sdk/http-refusal.ts';
import { type FaceRequest, mcpHeaders, takesEvents } from '../sdk/http-request.ts';
import type { AgentTable } from './agent-table.ts';
import { bearerToken } from './bearer-token.ts';
import { readJsonBody } from './json-body.ts';
import { refuseContent, refuseHead } from './request-check.ts';
import { writeResponse } from './written-response.ts';

export interface RequestHandlerOptions {
  agents: AgentTable;
  /** Host names that requests may use for this face. */
  hosts: ReadonlySet<string>;
  maxBodyBytes: number;
  /** Returns true when no new request is to be served. */
  isEnding: () => boolean;
}

/**
 * Makes the handler of HTTP requests. It checks the head of a request, then its token, reads the body only if the broker accepts
 * the token, and has the agent answer. The handler resolves when the answer has left or the connection is closed.
 */
export function createRequestHandler(
  options: RequestHandlerOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { agents, hosts, maxBodyBytes, isEnding } = options;
  return async (request, response) => {
    const refuse = (refusal: HttpRefusal) => writeResponse(refusalResponse(refusal), response);
    const refusal = refuseHead(request, hosts);
    if (refusal) return refuse(refusal);
    const bearer = bearerToken(request.headers.authorization);
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
        const read = await readRequest(request, maxBodyBytes, hangUp.signal);
        if ('status' in read) await refuse(read);
        else await writeResponse(await agent.answer(read), response);
      },
      refuse,
    );
  };
}

async function readRequest(
  request: IncomingMessage,
  maxBodyBytes: number,
  signal: AbortSignal,
): Promise<FaceRequest | HttpRefusal> {
  const { method = '', headers } = request;
  const read = method === 'POST' ? await readJsonBody(request, maxBodyBytes) : { json: undefined };
  if ('status' in read) return read;
  if (Array.isArray(read.json)) {
    return { status: 400, code: -32600, message: 'send one message at a time: batches are not served' };
  }
  const streams = takesEvents(headers.accept);
  return { method, headers: mcpHeaders(headers), message: read.json, streams, signal };
}
