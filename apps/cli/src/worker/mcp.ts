import { issuerOfToken, permissionsOfRole, SignalboxError } from '@signalbox/protocol';
import { formatDuration } from '@signalbox/protocol/duration';
import { type ExecutorOptions, McpProxyExecutor, serveMcpFace } from '@signalbox/worker';
import type { TurnRef } from '@signalbox/worker/internal';
import { withConnectionHint } from '../connection/connected-client.ts';
import {
  type Connection,
  type ConnectionFlags,
  namedToken,
  resolveConnection,
} from '../connection/connection.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { parentEnded } from '../process/parent-ended.ts';
import { firstEnd, stopRequested } from '../process/stop-signals.ts';
import { ownTracing } from '../process/tracing.ts';
import { ownVersion } from '../process/version.ts';
import { expiryWarning } from '../token/token-expiry.ts';
import { noOwnToken, requireOwnToken } from './own-token.ts';
import { servedTurn } from './served-turn.ts';

/** The options of `signalbox worker mcp`. */
export interface WorkerMcpFlags extends ConnectionFlags {
  orchestrator?: string;
  /** The time to wait for the broker, in milliseconds. */
  wait: number;
  /** The longest time for one tool call, in milliseconds. */
  timeout: number;
  /** `all` lists every tool; `search` lists two, one to search tools and one to call them. */
  tools: 'all' | 'search';
  /** `ask` adds the tool by which the agent's CLI asks a person for permissions. */
  permissions: 'ask' | 'cli';
}

/**
 * Serves MCP on standard input and output until the client closes them or ends, or the process is asked to end.
 * Standard output carries MCP and nothing else; everything for people goes to standard error.
 */
export async function runWorkerMcp(flags: WorkerMcpFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  requireOwnToken(flags);
  const connection = await resolveConnection(flags, process.env, { search: false });
  const log = await openLog('worker', 'info');
  const stop = Promise.race([stopRequested(), parentEnded()]);
  const tracing = await ownTracing();
  const turn = servedTurn(process.env);
  const ports = { log: logInto(log, 'debug'), fault, tracing };
  const executor = await connect(connection, { ...flags, thread: turn?.thread }, stop, ports);
  if (executor === undefined) return;
  try {
    if (permissionsOfRole(executor.role).length > 0)
      throw noOwnToken('this is a token of an operator; a worker needs its own');
    log.info({ agent: executor.agent, role: executor.role, tools: executor.toolCount }, 'serving MCP');
    const times = executor.tokenTimes;
    const { agent, role } = executor;
    const issuer = issuerOfToken(connection.token);
    const expiring =
      times && expiryWarning({ agent, role, issuer, ...times }, Date.now(), connection.tokenFile);
    if (expiring !== undefined) log.warn(expiring);
    await using face = serveMcpFace(executor, {
      version: ownVersion(),
      toolList: flags.tools,
      ...(flags.permissions === 'ask' && { permissions: flags.permissions }),
      ...(turn && { turn }),
      log: logInto(log, 'debug'),
    });
    using _memory = returnIdleMemory(logInto(log, 'debug'));
    const lost = executor.closed.then((reason) => reason ?? 'closed');
    const end = await firstEnd<string | SignalboxError>(
      face.closed.then(() => 'client hung up'),
      stop,
      lost,
    );
    log.info({ reason: String(end) }, 'ending');
    if (end instanceof SignalboxError) throw withConnectionHint(end, connection);
  } finally {
    // An open standard input keeps a process alive.
    process.stdin.destroy();
    await executor.close();
  }
}

/** Connects the executor; `undefined` if the process was asked to end before it was connected. */
async function connect(
  connection: Connection,
  flags: WorkerMcpFlags & Pick<TurnRef, 'thread'>,
  stop: Promise<string>,
  ports: Pick<ExecutorOptions, 'log' | 'fault' | 'tracing'>,
): Promise<McpProxyExecutor | undefined> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort('waited'), flags.wait);
  // Once connected, the connection lives on until the calls that run are answered.
  let connecting = true;
  void stop.then(() => connecting && giveUp.abort('stopped'));
  try {
    return await McpProxyExecutor.connect({
      url: connection.url,
      insecure: connection.insecure,
      ...(connection.authorities && { ca: connection.authorities.pem }),
      token: connection.token,
      renewToken: async () => namedToken(flags, process.env)?.token,
      agent: connection.agent,
      orchestrator: flags.orchestrator ?? (await connection.orchestrator()),
      timeoutMs: flags.timeout,
      ...(flags.thread !== undefined && { thread: flags.thread }),
      signal: giveUp.signal,
      waitForBroker: true,
      onConnected: () => clearTimeout(timer),
      ...ports,
    });
  } catch (error) {
    if (giveUp.signal.reason === 'stopped') return undefined;
    if (giveUp.signal.reason === 'waited') {
      const message = `no broker answered at ${connection.url} for ${formatDuration(flags.wait)}`;
      throw new SignalboxError('unreachable', message, {
        cause: error,
        retryable: true,
        details: { url: connection.url, hint: 'start one with: signalbox up   (or wait longer with --wait)' },
      });
    }
    throw withConnectionHint(withOrchestratorHint(error), connection);
  } finally {
    connecting = false;
    clearTimeout(timer);
  }
}

/** Adds what to do if the broker is there and no orchestrator is. */
function withOrchestratorHint(error: unknown): unknown {
  if (!(error instanceof SignalboxError) || error.code !== 'no_consumer') return error;
  const hint = 'start one with: signalbox up   (--orchestrator NAME names one that runs under another id)';
  const { code, message, retryable } = error;
  return new SignalboxError(code, message, { cause: error, retryable, details: { hint } });
}
