import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import { DirectCalls } from '../sdk/direct-calls.ts';
import { createFaceServer, defaultHeartbeatMs } from '../sdk/face-server.ts';
import { StdioTransport } from '../sdk/stdio-transport.ts';
import { RunningCalls } from '../tools/running-calls.ts';
import { type AgentToolsOptions, openAgentTools } from './agent-tools.ts';

export interface McpFaceOptions extends AgentToolsOptions {
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
 * Serves an agent's tools as an ordinary MCP server over one connection, in both protocol eras. The executor stays
 * the caller's to close.
 */
export function serveMcpFace(executor: McpProxyExecutor, options: McpFaceOptions): McpFace {
  const { version, heartbeatMs = defaultHeartbeatMs, log = () => {} } = options;
  const running = new RunningCalls();
  const tools = openAgentTools(executor, options);
  let listening: Server | undefined;
  const { input = process.stdin, output = process.stdout } = options.streams ?? {};
  const wire = options.transport ?? new StdioTransport(input, output);
  const lane = new DirectCalls({ tools, running, heartbeatMs });
  const handle = serveStdio(
    ({ era }) => {
      const server = createFaceServer(tools, { version, running, heartbeatMs });
      if (era === 'modern') listening = server;
      else
        server.oninitialized = () => {
          listening = server;
          lane.open(server);
        };
      return server;
    },
    { transport: wire, onerror: (error) => log({ event: 'mcp_face_error', reason: messageOf(error) }) },
  );
  const forget = tools.onChanged(() => {
    listening?.sendToolListChanged().catch((thrown) => {
      log({ event: 'list_changed_not_sent', reason: messageOf(thrown) });
    });
  });
  lane.attach(wire);
  const ended = Promise.withResolvers<void>();
  const onWireClose = wire.onclose;
  wire.onclose = () => {
    lane.close();
    onWireClose?.();
    forget();
    ended.resolve();
  };
  const closed = ended.promise.then(async () => {
    await running.settled();
    await tools[Symbol.asyncDispose]();
  });
  const close = async () => {
    running.cancelAll();
    await running.settled();
    // The SDK writes an answer in the turn in which its handler is done.
    await nextTurn();
    await handle.close();
    ended.resolve();
    await closed;
  };
  void executor.closed.then(close);
  return { closed, close, [Symbol.asyncDispose]: close };
}
