import { SignalboxError } from '@signalbox/protocol';
import type { McpServerConfig } from '../../config/server-config.ts';
import { failureOf } from '../../failures/failure.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import { type ConnectOptions, connectServer, type ServerConnection } from '../../sdk/connect-server.ts';
import type { ProcessCare } from '../../stdio/stdio-transport.ts';
import type { InstanceDeps } from '../server-deps.ts';

/** A session whose tools are known, or why there is none. Then nothing is left running. */
export type ServerStart =
  | { connection: ServerConnection; list: ToolList }
  | { reason: string; needsAuth: boolean; stderrTail: string };

/** The instance that is started. */
export interface Startable {
  readonly name: string;
  readonly instance: string;
  readonly config: McpServerConfig;
  readonly redact: (text: string) => string;
}

/** Starts or reaches a server when it is its turn, shakes hands and lists the tools. Never rejects. */
export async function startServer(
  server: Startable,
  deps: InstanceDeps,
  of: Pick<ConnectOptions, 'signal' | 'onToolsChanged'>,
): Promise<ServerStart> {
  const options = connectOptions(server, deps, of);
  let connection: ServerConnection | undefined;
  try {
    connection = await deps.starts.add(() => connectServer(server.config, options), { signal: of.signal });
    const list = await connection.listTools(options);
    of.signal.throwIfAborted();
    if (!connection.isOpen) throw new SignalboxError('server_failed', await connection.lost);
    return { connection, list };
  } catch (error) {
    const needsAuth = error instanceof SignalboxError && error.code === 'needs_auth';
    if (!connection) return { reason: failureOf(error).reason, needsAuth, stderrTail: stderrTailOf(error) };
    const why = connection.isOpen ? failureOf(error).reason : await connection.lost;
    const stderrTail = connection.stderrTail();
    await connection.close();
    const reason = `the server started, but its tools could not be listed: ${why}`;
    return { reason, needsAuth, stderrTail };
  }
}

/** What `event` resolves with; `undefined` when the signal aborts first. */
export async function orAborted<T>(event: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const giveUp = () => resolve(undefined);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([event, promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function connectOptions(
  { name, instance, redact }: Startable,
  { clientInfo, tuning, authorizer, log, onProcess }: InstanceDeps,
  of: Pick<ConnectOptions, 'signal' | 'onToolsChanged'>,
): ConnectOptions {
  const grace: ProcessCare = { ...tuning, onProcess: (pid) => onProcess(name, pid) };
  const facts = { server: name, ...(instance !== '' && { instance }) };
  return {
    ...of,
    timeoutMs: tuning.startMs,
    clientInfo,
    grace,
    ...(authorizer && { authorizer }),
    onNoise: (error) => log({ event: 'server_noise', ...facts, reason: redact(noiseOf(error)) }),
  };
}

function stderrTailOf(error: unknown): string {
  const tail = error instanceof SignalboxError ? error.details.stderrTail : undefined;
  return typeof tail === 'string' ? tail : '';
}

/** The SDK's plain errors quote whole messages, which may hold anything; the log must not. */
function noiseOf(error: Error): string {
  return error.constructor === Error
    ? 'a message that nothing waits for'
    : failureOf(error).reason.slice(0, 200);
}
