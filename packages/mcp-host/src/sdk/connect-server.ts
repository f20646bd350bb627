import type { Implementation, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type CallRound, SignalboxError } from '@signalbox/protocol';
import { type Authorizer, isAboutScope } from '@signalbox/server-auth';
import type { HttpServerConfig, McpServerConfig } from '../config/server-config.ts';
import { failureOf } from '../failures/failure.ts';
import type { ToolList } from '../inventory/tool-list.ts';
import { type ProcessCare, StdioTransport } from '../stdio/stdio-transport.ts';
import { connectionOf, newClient } from './client-session.ts';
import { httpTransport } from './http-transport.ts';
import { CallLane } from './legacy-calls.ts';
import { keepProgressAhead } from './progress-order.ts';
import { setResultsAside } from './untouched-results.ts';

const sessionEndMs = 1_000;
const noMoreNotices = 'the server ended the stream of change notices';

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

/** What a call may carry besides its arguments. */
export interface CallExtras {
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Left out towards a server of an older revision. */
  round?: CallRound | undefined;
}

/** One session with a server. It is used until it is lost, and then replaced, never revived. */
export interface ServerConnection {
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
    more?: CallExtras,
  ): Promise<Record<string, unknown>>;
  stderrTail(): string;
  /** Ends the session, and the process behind it. */
  close(): Promise<void>;
}

export interface ConnectOptions extends RequestLimits {
  clientInfo: Implementation;
  grace: ProcessCare;
  /** The access to an HTTP server that has `auth`. */
  authorizer?: Authorizer;
  onToolsChanged: () => void;
  /** What went wrong without ending a request; for the log. */
  onNoise: (error: Error) => void;
}

/**
 * Starts or reaches the server and shakes hands. Rejects with `SignalboxError` `needs_auth`, `auth_failed` or
 * `server_failed`; nothing is left running then.
 */
export async function connectServer(
  config: McpServerConfig,
  options: ConnectOptions,
): Promise<ServerConnection> {
  if (config.type === 'http') return openHttp(config, options);
  const transport = new StdioTransport(config, options.grace);
  if (config.protocol !== 'auto') return openStdio(transport, 'legacy', options);
  try {
    return await openStdio(transport, 'auto', options);
  } catch (error) {
    // A server that is older than the question may exit on it.
    if (options.signal.aborted || transport.pid === undefined) throw error;
    return openStdio(new StdioTransport(config, options.grace), 'legacy', options);
  }
}

/** Asks for the current revision, if at all, in the process that then serves: one that knows only older ones is asked again in its way. */
async function openStdio(
  transport: StdioTransport,
  mode: 'legacy' | 'auto',
  options: ConnectOptions,
): Promise<ServerConnection> {
  let open = true;
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  const lose = (reason: string) => {
    open = false;
    resolve(reason);
  };
  transport.onclose = () => lose(transport.end ?? 'was closed');
  if (mode === 'auto') {
    setResultsAside(transport);
    // By this property and the process id the SDK knows a stdio server, whose silence it takes for the older revision.
    Object.assign(transport, { stderr: null });
  }
  const client = newClient(mode, Math.ceil(options.timeoutMs / 2), options);
  // The SDK's question for the revision heeds no signal.
  const giveUp = () => transport.close();
  options.signal.addEventListener('abort', giveUp, { once: true });
  try {
    await client.connect(transport, { timeout: options.timeoutMs, signal: options.signal });
  } catch (error) {
    const { reason } = failureOf(error);
    const ended = transport.end;
    await transport.close();
    throw new SignalboxError('server_failed', ended ?? reason, {
      details: { stderrTail: transport.stderrTail() },
    });
  } finally {
    options.signal.removeEventListener('abort', giveUp);
  }
  keepProgressAhead(transport);
  client.autoOpenedSubscription?.closed.then(() => lose(transport.end ?? noMoreNotices));
  return connectionOf(client, {
    lost,
    isOpen: () => open && transport.isOpen,
    pid: () => transport.pid,
    stderrTail: () => transport.stderrTail(),
    close: () => transport.close(),
    lane: new CallLane(transport),
  });
}

async function openHttp(config: HttpServerConfig, options: ConnectOptions): Promise<ServerConnection> {
  const { authorizer } = options;
  let open = true;
  let refusal: SignalboxError | undefined;
  const { promise: lost, resolve } = Promise.withResolvers<string>();
  const lose = (reason: string) => {
    open = false;
    resolve(reason);
  };
  const transport = httpTransport(
    config,
    {
      onUnreachable: (error) => lose(failureOf(error).reason),
      onSessionRefused: (streaming) => {
        lose('the server ended the session');
        if (streaming) transport.close();
      },
      onUnauthorized: (error) => {
        refusal = error;
        // A single request may need more than the rest.
        if (!isAboutScope(error)) lose(error.message);
      },
    },
    authorizer,
  );
  const client = newClient(config.protocol ?? 'auto', options.timeoutMs, options);
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
    throw refusal ?? new SignalboxError('server_failed', failureOf(error).reason);
  } finally {
    options.signal.removeEventListener('abort', giveUp);
  }
  keepProgressAhead(transport);
  client.autoOpenedSubscription?.closed.then(() => lose(noMoreNotices));
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
