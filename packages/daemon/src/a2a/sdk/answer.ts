import { A2A_CONTENT_TYPE, A2A_VERSION_HEADER } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler, toLegacyHTTPError } from '@a2a-js/sdk/compat/v0_3/server';
import { restStatusFor, toJsonRpcError, toRestErrorBody } from '@a2a-js/sdk/errors';
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server';
import type { AgentRequest, HttpReply, RequestHead } from '@signalbox/worker/agent-server';
import { legacyRest } from './legacy-rest.ts';
import { OutsideRequestHandler, type RequestScope } from './request-handler.ts';
import { currentRest, type RestCodec } from './rest.ts';
import type { Route } from './routes.ts';

/**
 * Returns the version of the protocol that a request names, in its header or its query, without the number of a patch, which is none of
 * the protocol's. One that names none speaks 0.3.
 */
export function versionOf({ headers, url = '' }: RequestHead): string {
  const [, query] = url.split('?', 2);
  const named =
    headers[A2A_VERSION_HEADER.toLowerCase()] ?? new URLSearchParams(query).get(A2A_VERSION_HEADER);
  const version = (typeof named === 'string' && named.trim()) || '0.3';
  return version.replace(/^(\d+\.\d+)\.\d+$/, '$1');
}

/** Returns true for a version whose shapes are those of 0.3. */
export function isLegacy(version: string): boolean {
  return version.startsWith('0.');
}

/** Answers a request of one of the bindings. Never rejects. */
export async function answerRequest(
  request: AgentRequest,
  route: Exclude<Route, { to: 'card' }>,
  scope: RequestScope,
  reply: HttpReply,
): Promise<void> {
  const handler = new OutsideRequestHandler(scope);
  const version = versionOf(request);
  const tenant = route.to === 'rest' ? route.rest.tenant : '';
  const context = new ServerCallContext({ requestedVersion: version, ...(tenant !== '' && { tenant }) });
  if (route.to === 'json-rpc') await answerJsonRpc(request, handler, context, scope, reply);
  else await answerRest(request, route.rest, { handler, context, scope, reply });
}

async function answerJsonRpc(
  { message }: AgentRequest,
  handler: OutsideRequestHandler,
  context: ServerCallContext,
  { card, signal }: RequestScope,
  reply: HttpReply,
): Promise<void> {
  const old = isLegacy(context.requestedVersion);
  const errorOf = old ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError : toJsonRpcError;
  const id = (message as { id?: string | number | null } | null)?.id ?? null;
  const failed = (thrown: unknown) => ({ jsonrpc: '2.0', id, error: errorOf(thrown) });
  try {
    validateVersion(context.requestedVersion, card, 'JSONRPC');
    const transport = old ? new LegacyJsonRpcTransportHandler(handler) : new JsonRpcTransportHandler(handler);
    const body = (message ?? null) as Record<string, unknown>;
    const answer = await transport.handle(body, context);
    if (Symbol.asyncIterator in answer) await sendEvents(answer, reply, signal, (event) => event);
    else reply.json(answer);
  } catch (thrown) {
    reply.json(failed(thrown));
  }
}

async function answerRest(
  request: AgentRequest,
  route: Parameters<RestCodec['call']>[0],
  {
    handler,
    context,
    scope,
    reply,
  }: {
    handler: OutsideRequestHandler;
    context: ServerCallContext;
    scope: RequestScope;
    reply: HttpReply;
  },
): Promise<void> {
  const old = isLegacy(context.requestedVersion);
  const codec = old ? legacyRest : currentRest;
  const headers = { 'content-type': old ? 'application/json' : A2A_CONTENT_TYPE };
  try {
    validateVersion(context.requestedVersion, scope.card, 'HTTP+JSON');
    const query = new URL(request.url, 'http://localhost').searchParams;
    const answer = await codec.call(route, { body: request.message ?? {}, query, handler, context });
    if ('events' in answer) await sendEvents(answer.events, reply, scope.signal, codec.event);
    else reply.json(answer.json, { headers });
  } catch (thrown) {
    const status = restStatusFor(thrown);
    reply.json(old ? toLegacyHTTPError(thrown) : toRestErrorBody(thrown, status), { status, headers });
  }
}

/** Sends a stream of events. What fails before its first event is thrown; what fails later ends it. */
async function sendEvents<Event>(
  events: AsyncGenerator<Event, void, undefined>,
  reply: HttpReply,
  signal: AbortSignal,
  write: (event: Event) => unknown,
): Promise<void> {
  const first = await events.next();
  reply.openStream();
  try {
    for (let next = first; !next.done && !signal.aborted; next = await events.next()) {
      // The client does not read: it can subscribe again.
      if (!reply.tell(write(next.value))) break;
    }
  } catch {
    // The end of the stream without a final state tells the client to look again.
  } finally {
    void events.return();
    reply.end();
  }
}
