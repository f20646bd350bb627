import {
  CLIENT_INFO_META_KEY,
  type Implementation,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { AgentStatus } from '../tools/agent-status.ts';
import type { FaceTools } from '../tools/face-tools.ts';
import type { RunningCalls } from '../tools/running-calls.ts';
import { answerCall, type ClientCall } from './answer-call.ts';
import { isModernCall, roundOf } from './call-rounds.ts';
import { untouched } from './legacy-input.ts';

/** Clients commonly give up after 60 s without a sign of life. */
export const defaultHeartbeatMs = 15_000;

/** An agent's tools, and where it is told how they are used. */
export type ShownTools = FaceTools & { readonly status: AgentStatus };

export interface FaceServerOptions {
  /** Version we report to the client. */
  version: string;
  /** Longest silence while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  running: RunningCalls;
  /** The method of the only request that it will get, as over HTTP. What it does not know, the SDK then refuses as HTTP wants it. */
  onlyMethod?: string;
}

/** An SDK server over the tools, for one connection or one request. Schemas, annotations, content and `_meta` pass unchanged. */
export function createFaceServer(tools: ShownTools, options: FaceServerOptions): Server {
  const { version, running, heartbeatMs = defaultHeartbeatMs } = options;
  const server = new Server(
    { name: 'signalbox', title: 'Signalbox', version },
    { capabilities: { tools: { listChanged: true } }, instructions: tools.instructions().join('\n') },
  );
  server.setRequestHandler('tools/list', (_request, context) => {
    tools.status.listed(clientOf(server, context));
    return { tools: tools.list() as Tool[] };
  });
  // A handler registered for tools/call would have its results re-made by the SDK's schemas, which drop fields that
  // they do not know. The fallback's results go out as they are.
  if (options.onlyMethod !== undefined && options.onlyMethod !== 'tools/call') return server;
  server.fallbackRequestHandler = (request, context) => {
    if (request.method !== 'tools/call') {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `no such method: ${request.method}`);
    }
    const { mcpReq } = context;
    const ended = tools.status.callStarted(String(request.params?.name));
    const { answer, end } = running.start((signal) =>
      answerCall(server, tools, clientCall(server, request, { context, signal }), heartbeatMs),
    );
    if (mcpReq.signal.aborted) end(mcpReq.signal.reason);
    mcpReq.signal.addEventListener('abort', () => end(mcpReq.signal.reason), { once: true });
    return answer.finally(ended);
  };
  return server;
}

function clientCall(
  server: Server,
  { params }: JSONRPCRequest,
  { context, signal }: { context: ServerContext; signal: AbortSignal },
): ClientCall {
  const { mcpReq } = context;
  return {
    name: params?.name,
    arguments: params?.arguments,
    progressToken: mcpReq._meta?.progressToken,
    signal,
    round: roundOf(server, context),
    isModern: isModernCall(context),
    notify: (params) => {
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    },
    ask: (request, options) => mcpReq.send(request, untouched, options),
  };
}

/** Who asks: each request says so in the stateless revision, the handshake did in the earlier ones. */
function clientOf(server: Server, { mcpReq }: ServerContext): Implementation | undefined {
  const envelope = mcpReq.envelope as { [CLIENT_INFO_META_KEY]?: Implementation } | undefined;
  return envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
}
