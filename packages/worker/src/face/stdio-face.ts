import { randomBytes } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { Log } from '@signalbox/client';
import { messageOf } from '@signalbox/protocol';
import type { McpProxyExecutor } from '../executor/mcp-proxy-executor.ts';
import type { MailHint } from '../mailbox/inbox/mail-hint.ts';
import { type FaceConnectionOptions, serveConnection } from '../sdk/face-connection.ts';
import { StdioTransport, type Transport } from '../sdk/stdio-transport.ts';
import { type AgentToolsOptions, openAgentTools } from './agent-tools.ts';

/** The transport, the times and the tools of a face that serves one connection. */
export interface McpFaceOptions extends AgentToolsOptions {
  /** The version that we report to the client. */
  version: string;
  /** The streams to the client; by default standard input and output of the process. */
  streams?: { input: Readable; output: Writable };
  /** A transport of the MCP SDK in place of streams. The face starts it and closes it. */
  transport?: Transport;
  /** The longest silence in milliseconds while a call runs whose client asked for progress; default 15 s. */
  heartbeatMs?: number;
  /** The longest wait in milliseconds for a client's answer to a question of a tool; default 4 min. */
  answerMs?: number;
  /** Returns the key of the call with which a client's request began (`FaceCall.key`). */
  keyOf?: FaceConnectionOptions['keyOf'];
  /** Called with each event of the face. */
  log?: Log;
}

/** An MCP server over one connection. */
export interface McpFace extends AsyncDisposable {
  /**
   * Resolves when the client has hung up, the executor's connection has ended for good, or `close` was called, and nobody
   * waits for a call any more. Calls of a client that hung up are not cancelled: the orchestrator keeps their results for the agent.
   */
  readonly closed: Promise<void>;
  /** See `AgentTools.newMailHint`. */
  newMailHint(): Promise<MailHint | undefined>;
  /** Cancels the running calls, lets their failures reach the client, and ends the connection. */
  close(): Promise<void>;
}

/**
 * Serves an agent's tools as an ordinary MCP server over one connection, in the revision of MCP that the client
 * asks for. The caller closes the executor.
 */
export function serveMcpFace(executor: McpProxyExecutor, options: McpFaceOptions): McpFace {
  const { version, heartbeatMs, answerMs, keyOf, log = () => {} } = options;
  const { input = process.stdin, output = process.stdout } = options.streams ?? {};
  const transport = options.transport ?? new StdioTransport(input, output);
  const tools = openAgentTools(executor, { consumerId: randomBytes(12).toString('base64url'), ...options });
  const { tracing, agent } = executor;
  const connection = serveConnection(transport, tools, {
    version,
    trace: tracing && { tracing, agent, transport: 'pipe' },
    heartbeatMs,
    answerMs,
    keyOf,
    onError: (error) => log({ event: 'mcp_face_error', reason: messageOf(error) }),
  });
  const stopAnnouncing = tools.onChanged(() => {
    connection.announceListChanged().catch((thrown) => {
      log({ event: 'list_changed_not_sent', reason: messageOf(thrown) });
    });
  });
  const stopAnnouncingMcpContent = tools.mcpContent.onChanged((changed) => {
    connection.announceMcpContentChanged(changed).catch((thrown) => {
      log({ event: 'list_changed_not_sent', reason: messageOf(thrown) });
    });
  });
  const closed = connection.closed.then(async () => {
    stopAnnouncing();
    stopAnnouncingMcpContent();
    await tools[Symbol.asyncDispose]();
  });
  const close = async () => {
    await connection.close();
    await closed;
  };
  void executor.closed.then(close);
  return { closed, newMailHint: tools.newMailHint, close, [Symbol.asyncDispose]: close };
}
