import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import { startCallProgress } from './call-progress.ts';
import type { McpProxyExecutor } from './mcp-proxy-executor.ts';
import { failedResultOf, toolResultOf } from './tool-result.ts';

/** Clients commonly give up after 60 s without a sign of life. */
const defaultHeartbeatMs = 15_000;

export interface McpFaceOptions {
  /** Version we report to the client. */
  version: string;
  /** Where the client's messages come from and ours go; default: the process's stdin and stdout. */
  streams?: { input: Readable; output: Writable };
  /** Instead of streams. The face starts it and closes it. */
  transport?: Transport;
  /** Longest silence while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  log?: Log;
}

/** An MCP server over one connection. */
export interface McpFace extends AsyncDisposable {
  /**
   * Resolves when the client has hung up, the executor's connection has ended for good, or `close` was called, and
   * every call that was running has been cancelled.
   */
  readonly closed: Promise<void>;
  /** Cancels the calls that run, lets their failures reach the client, and ends the connection. */
  close(): Promise<void>;
}

/**
 * Serves the executor's tools as an ordinary MCP server, in both protocol eras. Schemas, annotations, content and
 * `_meta` pass through unchanged. The executor stays the caller's to close.
 */
export function serveMcpFace(executor: McpProxyExecutor, options: McpFaceOptions): McpFace {
  const log = options.log ?? (() => {});
  const running: RunningCalls = { calls: new Set(), stop: new AbortController() };
  let listening: Server | undefined;
  const wire = options.transport ?? new StdioServerTransport(options.streams?.input, options.streams?.output);
  const handle = serveStdio(
    ({ era }) => {
      const server = createServer(executor, options, running);
      if (era === 'modern') listening = server;
      else
        server.oninitialized = () => {
          listening = server;
        };
      return server;
    },
    { transport: wire, onerror: (error) => log({ event: 'mcp_face_error', reason: messageOf(error) }) },
  );
  const forget = executor.onManifestChanged(() => {
    listening?.sendToolListChanged().catch((thrown) => {
      log({ event: 'list_changed_not_sent', reason: messageOf(thrown) });
    });
  });
  const ended = Promise.withResolvers<void>();
  const onWireClose = wire.onclose;
  wire.onclose = () => {
    onWireClose?.();
    forget();
    ended.resolve();
  };
  const closed = ended.promise.then(async () => {
    await Promise.allSettled(running.calls);
  });
  const close = async () => {
    running.stop.abort();
    await Promise.allSettled(running.calls);
    // The SDK writes an answer in the turn in which its handler is done.
    await nextTurn();
    await handle.close();
    ended.resolve();
    await closed;
  };
  void executor.closed.then(close);
  return { closed, close, [Symbol.asyncDispose]: close };
}

/** The calls of one face, and the way to end them. */
interface RunningCalls {
  calls: Set<Promise<unknown>>;
  stop: AbortController;
}

function createServer(
  executor: McpProxyExecutor,
  options: McpFaceOptions,
  { calls, stop }: RunningCalls,
): Server {
  const server = new Server(
    { name: 'signalbox', title: 'Signalbox', version: options.version },
    { capabilities: { tools: { listChanged: true } }, instructions: instructionsFor(executor) },
  );
  server.setRequestHandler('tools/list', () => ({ tools: executor.listTools() as Tool[] }));
  // A handler registered for tools/call would have its results re-made by the SDK's schemas, which drop fields that
  // they do not know. The fallback's results go out as they are.
  server.fallbackRequestHandler = (request, context) => {
    if (request.method !== 'tools/call') {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `no such method: ${request.method}`);
    }
    const signal = AbortSignal.any([context.mcpReq.signal, stop.signal]);
    const heartbeatMs = options.heartbeatMs ?? defaultHeartbeatMs;
    const call = answerCall(server, executor, request, { context, signal, heartbeatMs });
    calls.add(call);
    return call.finally(() => calls.delete(call));
  };
  return server;
}

async function answerCall(
  server: Server,
  executor: McpProxyExecutor,
  request: JSONRPCRequest,
  { context, signal, heartbeatMs }: { context: ServerContext; signal: AbortSignal; heartbeatMs: number },
) {
  const name = request.params?.name;
  if (typeof name !== 'string') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'tools/call needs the name of a tool');
  }
  const tool = executor.findTool(name);
  const token = context.mcpReq._meta?.progressToken;
  const progress =
    token !== undefined &&
    startCallProgress(heartbeatMs, (sent) => {
      const params = { progressToken: token, ...sent };
      context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
    });
  const { result, error } = await executor.execute(
    { name, arguments: request.params?.arguments },
    { signal, ...(progress && { onProgress: progress.report }) },
  );
  if (progress) await progress.end();
  if (!tool && error?.code === 'tool_not_found') {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, [error.message, error.hint].join('. '));
  }
  return server.projectCallToolResult(
    error ? failedResultOf(error, tool) : toolResultOf(result),
    tool?.outputSchema,
  );
}

function instructionsFor(executor: McpProxyExecutor): string {
  return [
    `These tools are shared by a fleet of agents; you are '${executor.agent}' and see those that the role '${executor.role}' may use.`,
    'A tool that is named mcp_SERVER__TOOL belongs to the MCP server SERVER. The list can change while you work.',
    'When a call fails (isError), the text says why and what to do; structuredContent.error holds the same as data: code, retryable, may_have_run and sometimes retry_after_seconds.',
    'Repeat a failed call only if retryable is true. If may_have_run is true, first find out whether the call took effect.',
  ].join('\n');
}
