import { resolve } from 'node:path';
import type { Log } from '@signalbox/daemon';
import { findConfig } from '@signalbox/daemon/config/internal';
import type { TlsFiles } from '@signalbox/daemon/tls';
import { isLoopback, SignalboxError } from '@signalbox/protocol';
import type { TlsPair } from '@signalbox/serving/tls';
import type { HttpFace } from '@signalbox/worker';
import { faceParts } from '../config/config-parts.ts';
import { loadFound } from '../config/load-found.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { ownTracing } from '../process/tracing.ts';
import { ownVersion } from '../process/version.ts';
import { printNotes } from '../terminal/output.ts';
import { faceConnect } from './face-connect.ts';
import { httpAddress } from './http-address.ts';
import type { WorkerMcpFlags } from './mcp.ts';
import { startHttpFace } from './start-http-face.ts';

/** The options of `signalbox worker mcp --http`. */
export interface WorkerHttpFlags extends WorkerMcpFlags {
  /** HOST:PORT */
  http: string;
  /** Further host names by which clients may reach it. */
  allowHost?: string[];
  /** The files of its certificate and key. */
  tlsCert?: string;
  tlsKey?: string;
  json?: boolean;
}

/** Serves MCP over HTTP until the process is asked to end. As in every worker, texts for people go to standard error. */
export async function runWorkerHttp(flags: WorkerHttpFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  refuseToken(flags);
  const listen = httpAddress(flags.http);
  const found = findConfig(flags.config);
  const config = await loadFound(found, { parts: faceParts({ http: true }) });
  const tracing = await ownTracing();
  const connect = faceConnect(flags, { found, config }, { fault, tracing });
  const log = await openLog('worker', 'info');
  let reload = (): void => log.info('SIGHUP: the configuration is read at the start only');
  const stop = stopRequested({ onHangup: () => reload() });
  await using files = await tlsFiles(flags, (pair) => face.setTls(pair), logInto(log));
  if (files) reload = () => void files.reload();
  await using face = await startHttpFace(
    {
      listen,
      ...(files && { tls: files.pair }),
      ...(config.auth && { agentClaim: config.auth.agentClaim }),
      connect,
      version: ownVersion(),
      toolList: flags.tools,
      allowedHosts: flags.allowHost ?? [],
      insecure: flags.insecure ?? false,
      limits: config.worker.limits,
      log: logInto(log, 'debug', { face_agent_connected: 'info', face_agent_left: 'info' }),
    },
    'choose another address with --http',
  );
  if (!isLoopback(listen.host) && !files) {
    log.warn(
      'listening beyond this machine without encryption: anyone who sees the traffic can read tokens and calls',
    );
  }
  const lines = flags.json
    ? [JSON.stringify({ url: face.url, port: face.port, broker: connect.url })]
    : readyLines(face, connect.url);
  printNotes(...lines);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  log.info({ reason: await stop }, 'ending');
}

/** Opens the files of the certificate and the key that the options name. Throws `usage` if only one of them is named. */
async function tlsFiles(
  { tlsCert, tlsKey }: WorkerHttpFlags,
  onChange: (pair: TlsPair) => void,
  log: Log,
): Promise<TlsFiles | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert !== undefined && tlsKey !== undefined) {
    const { TlsFiles } = await import('@signalbox/daemon/tls');
    return await TlsFiles.open({ cert: resolve(tlsCert), key: resolve(tlsKey), onChange, log });
  }
  throw new SignalboxError('usage', '--tls-cert and --tls-key go together', {
    details: { hint: 'name the certificate with --tls-cert FILE and its key with --tls-key FILE' },
  });
}

/** Throws `usage` if a token or an agent is named, which would not be used. */
function refuseToken({ tokenFile, agent }: WorkerHttpFlags): void {
  if (tokenFile === undefined && agent === undefined) return;
  const option = tokenFile === undefined ? '--agent' : '--token-file';
  throw new SignalboxError(
    'usage',
    `${option} means nothing with --http: each request brings its own token`,
    {
      details: { hint: `leave ${option} out; clients send Authorization: Bearer TOKEN` },
    },
  );
}

function readyLines({ url }: HttpFace, broker: string): string[] {
  const server = { type: 'http', url, headers: { Authorization: 'Bearer TOKEN' } };
  return [
    `MCP over HTTP ready at ${url}`,
    `  broker   ${broker}`,
    '',
    'Next: point a client to it, with the token of its own agent in place of TOKEN',
    `  ${JSON.stringify({ mcpServers: { signalbox: server } })}`,
  ];
}
