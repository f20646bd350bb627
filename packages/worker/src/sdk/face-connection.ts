import type { Server, Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { McpContentKinds } from '@signalbox/protocol';
import { type AgentFaceTools, type AnswerDeps, cancelCalls } from './answer-call.ts';
import { DirectCalls } from './direct-calls.ts';
import { createFaceServer } from './face-server.ts';
import { keepCodes } from './kept-codes.ts';
import { ListenedResources } from './listened-resources.ts';
import { sendMcpContentChanged } from './mcp-content-requests.ts';
import { RunningCalls } from './running-calls.ts';

export interface FaceConnectionOptions {
  /** The version that we report to the client. */
  version: string;
  heartbeatMs?: number | undefined;
  /** See `AnswerDeps.answerMs`. */
  answerMs?: AnswerDeps['answerMs'];
  /** See `AnswerDeps.trace`. */
  trace: AnswerDeps['trace'];
  /** See `AnswerDeps.keyOf`. */
  keyOf?: AnswerDeps['keyOf'];
  onError: (error: Error) => void;
}

/** One client of an agent's tools, on a transport of its own. */
export interface FaceConnection {
  /** Resolves when the transport is closed and nobody waits for a call any more. */
  readonly closed: Promise<void>;
  /** Tells the client that the list of tools has changed. Rejects if that can't be sent. */
  announceListChanged(): Promise<void>;
  /** Tells the client that other lists have changed, if its session has them. Rejects if that can't be sent. */
  announceMcpContentChanged(changed: McpContentKinds): Promise<void>;
  /** Cancels the running calls, lets their answers reach the client, and closes the transport. */
  close(): Promise<void>;
}

/** Serves an agent's tools over one transport, which it starts and closes. The client chooses the revision of MCP. */
export function serveConnection(
  transport: Transport,
  tools: AgentFaceTools,
  { version, heartbeatMs, answerMs, trace, keyOf, onError }: FaceConnectionOptions,
): FaceConnection {
  keepCodes(transport);
  const running = new RunningCalls();
  const logs = { level: undefined };
  const deps: AnswerDeps = { tools, running, heartbeatMs, answerMs, trace, keyOf, logs };
  const directCalls = new DirectCalls(deps);
  /** The server of the session, once the client may be sent notifications. */
  let ready: Server | undefined;
  let era: 'legacy' | 'modern' | undefined;
  const handle = serveStdio(
    (client) => {
      era = client.era;
      const server = createFaceServer({ ...deps, version, isModern: era === 'modern' });
      if (era === 'modern') ready = server;
      else
        server.oninitialized = () => {
          ready = server;
          directCalls.open(server);
        };
      return server;
    },
    { transport, onerror: onError },
  );
  directCalls.attach(transport);
  const listening = new ListenedResources(tools.mcpContent, transport);
  const stopUpdates = tools.mcpContent.onUpdated((uri) => {
    if (era === 'modern') ready?.sendResourceUpdated({ uri }).catch(() => {});
  });
  const ended = Promise.withResolvers<void>();
  const { onclose } = transport;
  transport.onclose = () => {
    running.clientHungUp();
    directCalls.close();
    stopUpdates();
    listening.close();
    onclose?.();
    ended.resolve();
  };
  return {
    closed: ended.promise.then(() => running.settled()),
    announceListChanged: async () => await ready?.sendToolListChanged(),
    announceMcpContentChanged: async (changed) => await sendMcpContentChanged(ready, changed),
    async close() {
      await cancelCalls(running);
      await handle.close();
      ended.resolve();
    },
  };
}
