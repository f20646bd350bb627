import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type Implementation,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { CancelSignal } from '@signalbox/client';
import {
  type CallRound,
  type McpLogLevel,
  mcpLogLevelSchema,
  toolForClient,
  workerFaceCapability,
} from '@signalbox/protocol';
import { JsonRpcError } from '../tools/json-rpc-error.ts';
import { toolPage } from '../tools/list-pages.ts';
import { type AnswerDeps, type ClientCall, startCall } from './answer-call.ts';
import { withOwnCode } from './kept-codes.ts';
import { questionGuard, untouched } from './legacy-input.ts';
import { LegacySubscriptions } from './legacy-subscriptions.ts';
import {
  answerMcpContentRequest,
  isMcpContentMethod,
  mcpContentCapabilities,
} from './mcp-content-requests.ts';
import { answerTaskRequests, isTaskMethod, tasksCapability } from './task-requests.ts';

export interface FaceServerOptions extends AnswerDeps {
  /** The version that we report to the client. */
  version: string;
  /**
   * The method of the only request that this server will get, as over HTTP. The SDK then refuses an unknown method with the HTTP status
   * that MCP requires.
   */
  onlyMethod?: string;
  /** True if the client speaks the current revision, which has tasks. */
  isModern: boolean;
}

/**
 * Makes an SDK server over an agent's tools, for one connection or one request. Schemas, annotations, content and `_meta` pass
 * unchanged.
 *
 * Calls and requests for resources and prompts are answered by the SDK's fallback handler: the SDK would rebuild the results of their own
 * handlers with its schemas, which drop fields that they do not know. Checked with SDK 2.4.0; look again with the next version.
 */
export function createFaceServer(options: FaceServerOptions): Server {
  const { version, tools, onlyMethod, isModern } = options;
  const logs = isModern ? undefined : options.logs;
  const server = new Server(serverInfoOf(version), {
    capabilities: {
      tools: { listChanged: true },
      ...(logs && { logging: {} }),
      ...mcpContentCapabilities(tools.mcpContent),
      ...(isModern && tasksCapability),
      experimental: { [workerFaceCapability]: {} },
    },
    instructions: tools.instructions().join('\n'),
  });
  server.setRequestHandler('tools/list', ({ params }, context) => {
    const client = clientOf(server, context);
    tools.status.listed(client);
    const shown = tools.list().map((tool) => toolForClient(tool, client?.name));
    return toolPage(shown, params?.cursor) as { tools: Tool[]; nextCursor?: string };
  });
  if (logs) {
    server.setRequestHandler('logging/setLevel', ({ params }) => {
      logs.level = params.level;
      return {};
    });
  }
  if (isModern && (onlyMethod === undefined || isTaskMethod(onlyMethod)))
    answerTaskRequests(server, tools.tasks);
  const { mcpContent } = tools;
  const isKnown = (method: string) => method === 'tools/call' || isMcpContentMethod(mcpContent, method);
  const subscriptions = new LegacySubscriptions(server, mcpContent);
  const beforeQuestion = questionGuard(server);
  if (onlyMethod !== undefined && !isKnown(onlyMethod)) return server;
  const answer = (request: JSONRPCRequest, context: ServerContext, isLegacy: boolean) => {
    if (isLegacy && subscriptions.knows(request.method))
      return subscriptions.answer(request.method, request.params ?? {});
    if (!isKnown(request.method)) {
      throw new JsonRpcError(ProtocolErrorCode.MethodNotFound, `no such method: ${request.method}`);
    }
    const { signal: cancelled } = context.mcpReq;
    if (request.method !== 'tools/call') {
      const { _meta: meta } = context.mcpReq;
      const round = isLegacy ? undefined : roundOf(server, context);
      const { method, params = {} } = request;
      return answerMcpContentRequest(mcpContent, { method, params, signal: cancelled, round, meta });
    }
    const { answer: answered, abort } = startCall(server, options, (signal) =>
      clientCall(server, request, {
        context,
        signal,
        logs,
        key: options.keyOf?.(context.mcpReq.id),
        beforeQuestion,
      }),
    );
    if (cancelled.aborted) abort(cancelled.reason);
    cancelled.addEventListener('abort', () => abort(cancelled.reason), { once: true });
    return answered;
  };
  server.fallbackRequestHandler = async (request, context) => {
    const isLegacy = context.mcpReq.envelope === undefined;
    try {
      return await answer(request, context, isLegacy);
    } catch (thrown) {
      throw isLegacy ? withOwnCode(thrown) : thrown;
    }
  };
  return server;
}

/** Returns the name under which clients know a face. */
export function serverInfoOf(version: string): Implementation {
  return { name: 'signalbox', title: 'Signalbox', version };
}

function clientCall(
  server: Server,
  { params }: JSONRPCRequest,
  {
    context,
    signal,
    logs,
    key,
    beforeQuestion,
  }: {
    context: ServerContext;
    signal: CancelSignal;
    logs: FaceServerOptions['logs'];
    key: ClientCall['key'];
    beforeQuestion: () => void;
  },
): ClientCall {
  const { mcpReq } = context;
  return {
    id: mcpReq.id,
    name: params?.name,
    arguments: params?.arguments,
    client: clientOf(server, context)?.name,
    meta: mcpReq._meta,
    progressToken: mcpReq._meta?.progressToken,
    signal,
    round: roundOf(server, context),
    key,
    isModern: mcpReq.envelope !== undefined,
    logLevel: logs ? logs.level : wantedLevel({ ...mcpReq.envelope }),
    notifyLog: (message) => {
      mcpReq
        .notify({ method: 'notifications/message', params: { ...message, data: message.data } })
        .catch(() => {});
    },
    notify: (params) => {
      mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    },
    ask: (request, options) => {
      beforeQuestion();
      return mcpReq.send(request, untouched, options);
    },
  };
}

/** Returns the least level of the log messages that a client of the current revision wants; it says so in the `_meta` of each call. */
export function wantedLevel(meta: Record<string, unknown>): McpLogLevel | undefined {
  return mcpLogLevelSchema.safeParse(meta[LOG_LEVEL_META_KEY]).data;
}

/** Returns the kinds of input that a call's client can be asked for, and its answers in a further round. */
function roundOf(server: Server, { mcpReq }: ServerContext): CallRound {
  const { envelope, inputResponses, requestState } = mcpReq;
  const declared = envelope as Record<string, Record<string, unknown> | undefined> | undefined;
  const clientCapabilities = declared
    ? declared[CLIENT_CAPABILITIES_META_KEY]
    : server.getClientCapabilities();
  const state = requestState<unknown>();
  return {
    ...(clientCapabilities && { clientCapabilities: { ...clientCapabilities } }),
    ...(!declared && { isOlderClient: true }),
    ...(inputResponses && { inputResponses }),
    ...(typeof state === 'string' && { requestState: state }),
  };
}

/** Returns the client's name and version: in the 2026 revision each request holds them, in earlier ones the handshake did. */
function clientOf(server: Server, { mcpReq }: ServerContext): Implementation | undefined {
  const envelope = mcpReq.envelope as { [CLIENT_INFO_META_KEY]?: Implementation } | undefined;
  return envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
}
