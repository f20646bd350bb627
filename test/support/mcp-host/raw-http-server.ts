import type { Tool } from '@signalbox/protocol';
import { type HttpEndpoint, startEndpoint } from './http-endpoint.ts';

type Json = Record<string, unknown>;

/** The messages of a stream that answers a call; the last one ends it. Members of JSON-RPC itself are filled in. */
export type RawCall = (params: Json, request: Request) => Answer | Promise<Answer>;

/** The messages, or where a test answers in its own way, the whole response. */
type Answer = Json[] | Response;

export interface RawHttpServer extends HttpEndpoint {
  /** Every message that was posted. */
  readonly received: Json[];
}

const revisions = { legacy: '2025-11-25', modern: '2026-07-28' };

/** An HTTP server that is written without the SDK, so that it can answer what the SDK would not let out. */
export async function startRawHttpServer(
  era: keyof typeof revisions,
  tools: Record<string, { definition?: Partial<Tool>; call: RawCall }>,
): Promise<RawHttpServer> {
  const received: Json[] = [];
  const serverInfo = { name: 'raw', version: '1' };
  const base = { capabilities: { tools: {} }, serverInfo };
  const answers: Record<string, RawCall> = {
    'server/discover': () => [
      {
        result: {
          resultType: 'complete',
          supportedVersions: [revisions.modern],
          ttlMs: 0,
          cacheScope: 'private',
          ...base,
        },
      },
    ],
    initialize: () => [{ result: { protocolVersion: revisions.legacy, ...base } }],
    'tools/list': () => [
      {
        result: {
          ...(era === 'modern' && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }),
          tools: Object.entries(tools).map(([name, { definition }]) => ({
            name,
            inputSchema: { type: 'object' },
            ...definition,
          })),
        },
      },
    ],
    'tools/call': (params, request) => tools[String(params.name)]!.call(params, request),
  };
  const unknown = era === 'modern' ? 'initialize' : 'server/discover';
  const endpoint = await startEndpoint(async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const message = (await request.json()) as Json & { params?: Json };
    received.push(message);
    const { id, method, params = {} } = message;
    if (id === undefined || method === undefined) return new Response(null, { status: 202 });
    const answer = method === unknown ? undefined : answers[String(method)];
    const messages = (await answer?.(params, request)) ?? [
      { error: { code: -32601, message: 'no such method' } },
    ];
    if (messages instanceof Response) return messages;
    const full = messages.map((one) => ({
      jsonrpc: '2.0',
      ...(one.method === undefined && { id }),
      ...one,
    }));
    if (full.length === 1) return Response.json(full[0], { status: answer ? 200 : 404 });
    const events = full.map((one) => `event: message\ndata: ${JSON.stringify(one)}\n\n`).join('');
    return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
  });
  return Object.assign(endpoint, { received });
}
