import { messageOf, SignalboxError } from '@signalbox/protocol';
import type { Authorizer } from '@signalbox/server-auth';
import type { McpServerConfig } from '../../config/server-config.ts';
import type { ToolList } from '../../inventory/tool-list.ts';
import { type ConnectOptions, connectServer } from '../../sdk/connect-server.ts';
import type { ServerConnection } from '../../server-connection.ts';
import type { ServerDeps } from '../server-deps.ts';

/** A connection with the tools of its server, or the reason why there is none. Then nothing is left running. */
export type StartResult =
  | { connection: ServerConnection; list: ToolList }
  | { reason: string; needsAuth: boolean; stderrTail: string };

/** The instance that is started. */
export interface StartTarget {
  /** The name of its server. */
  readonly name: string;
  /** Its own name; empty for the instance that serves everybody. */
  readonly instance: string;
  readonly config: McpServerConfig;
  readonly authorizer: Authorizer | undefined;
  readonly redact: (text: string) => string;
}

/** Starts or reaches a server when its turn in the queue comes, shakes hands and lists the tools. Never rejects. */
export async function startServer(
  target: StartTarget,
  deps: ServerDeps,
  events: Pick<ConnectOptions, 'signal' | 'onToolsChanged'>,
): Promise<StartResult> {
  const { signal } = events;
  const options = connectOptions(target, deps, events);
  let connection: ServerConnection | undefined;
  try {
    connection = await deps.starts.add(() => connectServer(target.config, options), { signal });
    const list = await connection.listTools(options);
    signal.throwIfAborted();
    if (!connection.isOpen) throw new SignalboxError('server_failed', await connection.lost);
    return { connection, list };
  } catch (error) {
    const needsAuth = error instanceof SignalboxError && error.code === 'needs_auth';
    if (!connection) return { reason: messageOf(error), needsAuth, stderrTail: stderrTailOf(error) };
    const why = connection.isOpen ? messageOf(error) : await connection.lost;
    const stderrTail = connection.stderrTail();
    await connection.close();
    const reason = `the server started, but its tools could not be listed: ${why}`;
    return { reason, needsAuth, stderrTail };
  }
}

function connectOptions(
  { name, instance, authorizer, redact }: StartTarget,
  { clientInfo, tuning, log, onProcess }: ServerDeps,
  events: Pick<ConnectOptions, 'signal' | 'onToolsChanged'>,
): ConnectOptions {
  const facts = { server: name, ...(instance !== '' && { instance }) };
  return {
    ...events,
    timeoutMs: tuning.startMs,
    clientInfo,
    process: { ...tuning, onProcess: (pid) => onProcess(name, pid) },
    ...(authorizer && { authorizer }),
    onNoise: (reason) => log({ event: 'server_noise', ...facts, reason: redact(reason) }),
  };
}

function stderrTailOf(error: unknown): string {
  const tail = error instanceof SignalboxError ? error.details.stderrTail : undefined;
  return typeof tail === 'string' ? tail : '';
}
