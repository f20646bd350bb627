import {
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  type Implementation,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { type CallRound, isInputRequired } from '@signalbox/protocol';
import type { AgentStatus } from './agent-status.ts';
import { startCallProgress } from './call-progress.ts';
import { isModernCall, roundOf } from './call-rounds.ts';
import type { FaceTools } from './face-tools.ts';
import { askLegacyClient } from './input-relay.ts';

/** Clients commonly give up after 60 s without a sign of life. */
export const defaultHeartbeatMs = 15_000;

/** The calls that run, and the way to end them all. */
export class RunningCalls {
  readonly #calls = new Set<Promise<unknown>>();
  readonly #stop = new AbortController();

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  track<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    return call.finally(() => this.#calls.delete(call));
  }

  cancelAll(): void {
    this.#stop.abort();
  }

  /** Resolves when those that run now have ended, however. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }
}

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
    const signal = AbortSignal.any([context.mcpReq.signal, running.signal]);
    const ended = tools.status.callStarted(String(request.params?.name));
    return running.track(answerCall(server, tools, request, { context, signal, heartbeatMs })).finally(ended);
  };
  return server;
}

/** Who asks: each request says so in the stateless revision, the handshake did in the earlier ones. */
function clientOf(server: Server, { mcpReq }: ServerContext): Implementation | undefined {
  const envelope = mcpReq.envelope as { [CLIENT_INFO_META_KEY]?: Implementation } | undefined;
  return envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
}

async function answerCall(
  server: Server,
  tools: FaceTools,
  request: JSONRPCRequest,
  { context, signal, heartbeatMs }: { context: ServerContext; signal: AbortSignal; heartbeatMs: number },
) {
  const name = request.params?.name;
  if (typeof name !== 'string') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'tools/call needs the name of a tool');
  }
  const token = context.mcpReq._meta?.progressToken;
  const progress =
    token !== undefined &&
    startCallProgress(heartbeatMs, (sent) => {
      const params = { progressToken: token, ...sent };
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    });
  try {
    const call = (round: CallRound) => {
      const answer = tools.call({
        name,
        arguments: request.params?.arguments,
        signal,
        round,
        ...(progress && { onProgress: progress.report }),
      });
      if (!answer) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool '${name}'`);
      return answer;
    };
    let answer = await call(roundOf(server, context));
    if (!isModernCall(context)) {
      const capabilities = server.getClientCapabilities();
      answer = await askLegacyClient({ context, signal, capabilities, again: call }, answer);
    }
    const { result, outputSchema } = answer;
    if (isInputRequired(result)) return result;
    return server.projectCallToolResult(result as CallToolResult, outputSchema);
  } finally {
    if (progress) await progress.end();
  }
}
