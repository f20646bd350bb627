import {
  Client,
  type Implementation,
  type Progress,
  type StandardSchemaV1,
  type StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { SignalboxError } from '@signalbox/protocol';
import type { HttpServerConfig, McpServerConfig, StdioServerConfig } from './config.ts';
import { failureOf } from './failure.ts';
import { httpTransport, rawTools } from './http/http-transport.ts';
import { type CloseGrace, StdioTransport } from './stdio/stdio-transport.ts';
import { readToolList, type ToolList, type ToolPage } from './tool-list.ts';

const sessionEndMs = 1_000;

/** How far a call has come, as its server reports it. */
export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

export interface RequestLimits {
  /** Milliseconds until the request is given up. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** One session with a server. It is used until it is lost, and then replaced, never revived. */
export interface Connection {
  readonly pid: number | undefined;
  /** False once it takes no new requests; requests under way may still be answered. */
  readonly isOpen: boolean;
  /** Resolves with the reason when it stops being open. */
  readonly lost: Promise<string>;
  listTools(limits: RequestLimits): Promise<ToolList>;
  /** The whole result as the server sent it. Rejects with what {@link failureOf} reads. */
  callTool(
    name: string,
    args: Record<string, unknown>,
    limits: RequestLimits,
    onProgress?: (progress: ToolProgress) => void,
  ): Promise<Record<string, unknown>>;
  stderrTail(): string;
  /** Ends the session, and the process behind it. */
  close(): Promise<void>;
}

export interface ConnectOptions extends RequestLimits {
  clientInfo: Implementation;
  grace: Partial<CloseGrace>;
  onToolsChanged: () => void;
  /** What went wrong without ending a request; for the log. */
  onNoise: (error: Error) => void;
}

/** Starts or reaches the server and shakes hands. Rejects with a reason free of secrets; nothing is left running then. */
export function openConnection(config: McpServerConfig, options: ConnectOptions): Promise<Connection> {
  return config.type === 'stdio' ? openStdio(config, options) : openHttp(config, options);
}

async function openStdio(config: StdioServerConfig, options: ConnectOptions): Promise<Connection> {
  const transport = new StdioTransport(config, options.grace);
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
  transport.onclose = () => lose(transport.end ?? 'was closed');
  const client = newClient('legacy', options);
  try {
    await client.connect(transport, { timeout: options.timeoutMs, signal: options.signal });
  } catch (error) {
    const { reason } = failureOf(error);
    const ended = transport.end;
    await transport.close();
    throw new SignalboxError('server_failed', ended ?? reason, {
      details: { stderrTail: transport.stderrTail() },
    });
  }
  return connectionOf(client, {
    lost,
    isOpen: () => transport.isOpen,
    pid: () => transport.pid,
    stderrTail: () => transport.stderrTail(),
    close: () => transport.close(),
  });
}

async function openHttp(config: HttpServerConfig, options: ConnectOptions): Promise<Connection> {
  let open = true;
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  const lose = (reason: string) => {
    open = false;
    resolve(reason);
  };
  const transport = httpTransport(config, {
    onUnreachable: (error) => lose(failureOf(error).reason),
    onSessionRefused: (streaming) => {
      lose('the server ended the session');
      if (streaming) transport.close();
    },
  });
  const client = newClient('auto', options);
  const close = async () => {
    lose('was closed');
    await endSession(transport);
    await transport.close();
  };
  // The SDK's probe for the revision heeds no signal.
  const giveUp = () => transport.close();
  options.signal.addEventListener('abort', giveUp, { once: true });
  try {
    await client.connect(transport, { timeout: options.timeoutMs, signal: options.signal });
  } catch (error) {
    await close();
    throw new SignalboxError('server_failed', failureOf(error).reason);
  } finally {
    options.signal.removeEventListener('abort', giveUp);
  }
  client.autoOpenedSubscription?.closed.then(() => lose('the server ended the stream of change notices'));
  return connectionOf(client, {
    lost,
    isOpen: () => open,
    pid: () => undefined,
    stderrTail: () => '',
    close,
  });
}

/** A legacy session is ended on the server too, if that takes no time. */
async function endSession(transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, sessionEndMs);
  await Promise.race([transport.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}

function newClient(mode: 'legacy' | 'auto', { clientInfo, onToolsChanged, onNoise }: ConnectOptions): Client {
  const client = new Client(clientInfo, {
    versionNegotiation: { mode },
    inputRequired: { autoFulfill: false },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: onToolsChanged } },
  });
  // Some servers send the notice without having announced that they do.
  client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
  client.onerror = onNoise;
  return client;
}

interface SessionParts {
  lost: Promise<string>;
  isOpen: () => boolean;
  pid: () => number | undefined;
  stderrTail: () => string;
  close: () => Promise<void>;
}

function connectionOf(client: Client, { lost, isOpen, pid, stderrTail, close }: SessionParts): Connection {
  return {
    lost,
    stderrTail,
    close,
    get isOpen() {
      return isOpen();
    },
    get pid() {
      return pid();
    },
    async listTools(limits) {
      if (!client.getServerCapabilities()?.tools) return { tools: [], problems: [] };
      const options = sdkLimits(limits);
      return readToolList(async (cursor) => {
        const params = cursor === undefined ? {} : { cursor };
        return toolPage(await client.request({ method: 'tools/list', params }, untouched, options));
      });
    },
    async callTool(name, args, limits, onProgress) {
      if (!isOpen()) throw new SignalboxError('not_sent', 'the session has ended');
      const request = { method: 'tools/call', params: { name, arguments: args } };
      return client.request(request, untouched, {
        ...sdkLimits(limits),
        ...(onProgress && { onprogress: (update) => onProgress(progressOf(update)) }),
      });
    },
  };
}

type Result = Record<PropertyKey, unknown>;

/** A schema that lets everything through: the SDK's own drop what they don't know. */
const untouched: StandardSchemaV1<unknown, Result> = {
  '~standard': { version: 1, vendor: 'signalbox', validate: (value) => ({ value: value as Result }) },
};

function toolPage(result: Result): ToolPage {
  return { tools: result[rawTools] ?? result.tools, nextCursor: result.nextCursor };
}

function progressOf({ progress, total, message }: Progress): ToolProgress {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}

/** Without `maxTotalTimeout` the SDK lets progress put the end off for ever; timers hold at most 2^31 - 1 ms. */
function sdkLimits({ timeoutMs, signal }: RequestLimits) {
  const timeout = Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
  return { timeout, maxTotalTimeout: timeout, signal };
}
