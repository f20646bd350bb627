import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { startCallProgress } from './call-progress.ts';
import type { FaceTools } from './face-tools.ts';

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

export interface FaceServerOptions {
  /** Version we report to the client. */
  version: string;
  /** Longest silence while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  running: RunningCalls;
}

/** An SDK server over the tools, for one connection or one request. Schemas, annotations, content and `_meta` pass unchanged. */
export function createFaceServer(tools: FaceTools, options: FaceServerOptions): Server {
  const { version, running, heartbeatMs = defaultHeartbeatMs } = options;
  const server = new Server(
    { name: 'signalbox', title: 'Signalbox', version },
    { capabilities: { tools: { listChanged: true } }, instructions: tools.instructions().join('\n') },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.list() as Tool[] }));
  // A handler registered for tools/call would have its results re-made by the SDK's schemas, which drop fields that
  // they do not know. The fallback's results go out as they are.
  server.fallbackRequestHandler = (request, context) => {
    if (request.method !== 'tools/call') {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `no such method: ${request.method}`);
    }
    const signal = AbortSignal.any([context.mcpReq.signal, running.signal]);
    return running.track(answerCall(server, tools, request, { context, signal, heartbeatMs }));
  };
  return server;
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
    const answer = tools.call({
      name,
      arguments: request.params?.arguments,
      signal,
      ...(progress && { onProgress: progress.report }),
    });
    if (!answer) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool '${name}'`);
    const { result, outputSchema } = await answer;
    return server.projectCallToolResult(result, outputSchema);
  } finally {
    if (progress) await progress.end();
  }
}
