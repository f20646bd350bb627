import type { Config, ListenAddress } from '@signalbox/daemon/config';
import { findConfig } from '@signalbox/daemon/config/internal';
import { isSupervised } from '@signalbox/daemon/supervisor';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { parseBrokerAddresses } from '@signalbox/protocol/internal';
import type { HttpFace, HttpFaceOptions } from '@signalbox/worker';
import { serveSharedFace } from '@signalbox/worker/internal';
import { faceParts } from '../config/config-parts.ts';
import { handedConfig } from '../config/handed-config.ts';
import { loadFound } from '../config/load-found.ts';
import { announceReady } from '../daemons/announce-ready.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { returnIdleMemory } from '../process/idle-memory.ts';
import { logInto, openLog } from '../process/log.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { ownTracing } from '../process/tracing.ts';
import { ownVersion } from '../process/version.ts';
import { type FaceConnectFlags, faceConnect } from './face-connect.ts';
import type { FaceReady } from './face-socket.ts';
import { httpAddress } from './http-address.ts';

/** The options of `signalbox worker face`. */
export interface WorkerFaceFlags extends FaceConnectFlags {
  /** The path of the Unix socket. */
  socket: string;
  /** Further addresses of the same broker. */
  alias?: string[];
  /** HOST:PORT at which agents are served over HTTP, too. */
  http?: string;
  json?: boolean;
}

/** Refuses an address under which no agent can know a broker. */
function checkAliases(aliases: readonly string[]): void {
  for (const alias of aliases) {
    try {
      parseBrokerAddresses(alias, { insecure: true });
    } catch (cause) {
      throw new SignalboxError('bad_broker_url', `--alias '${alias}': ${messageOf(cause)}`, { cause });
    }
  }
}

/** Serves the shims of many agents on a Unix socket, and with `http` agents over HTTP, until the process is asked to end. */
export async function runWorkerFace(flags: WorkerFaceFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const found = findConfig(flags.config, { search: !isSupervised() });
  checkAliases(flags.alias ?? []);
  const listen = flags.http === undefined ? undefined : httpAddress(flags.http);
  const parts = faceParts({ http: listen !== undefined });
  const config = (await handedConfig()) ?? (await loadFound(found, { parts }));
  const tracing = await ownTracing();
  const connect = faceConnect(flags, { found, config }, { fault, tracing });
  const log = await openLog('worker', 'info');
  const stop = stopRequested();
  await using face = await serveSharedFace({
    path: flags.socket,
    connect,
    aliases: flags.alias ?? [],
    face: { version: ownVersion() },
    limits: config.worker.limits,
    log: logInto(log, 'debug', { face_refused: 'info' }),
  });
  await using http =
    listen &&
    (await serveHttp(listen, config, {
      connect,
      insecure: flags.insecure ?? false,
      log: logInto(log, 'debug', { face_agent_connected: 'info', face_agent_left: 'info' }),
    }));
  const ready: FaceReady = { socket: face.path, broker: connect.url, ...(http && { url: http.url }) };
  announceReady({ ...ready, pid: process.pid }, readyLines(ready), flags);
  using _memory = returnIdleMemory(logInto(log, 'debug'));
  log.info({ reason: await stop }, 'ending');
}

/** Serves agents over HTTP beside the shims. */
async function serveHttp(
  listen: ListenAddress,
  { auth, broker, worker }: Config,
  options: Pick<HttpFaceOptions, 'connect' | 'insecure' | 'log'>,
): Promise<HttpFace> {
  // A face for shims alone has no need of it.
  const { startHttpFace } = await import('./start-http-face.ts');
  return await startHttpFace(
    {
      listen,
      ...(auth && { agentClaim: auth.agentClaim }),
      version: ownVersion(),
      allowedHosts: broker.trustedOrigins.map((origin) => new URL(origin).hostname),
      limits: worker.limits,
      ...options,
    },
    'choose another address with worker.http in the configuration, or with --http of worker face',
  );
}

function readyLines({ socket, broker, url }: FaceReady): string[] {
  return [
    `shared face ready at ${socket}${url === undefined ? '' : ` and ${url}`}`,
    `  broker   ${broker}`,
    '',
    'Next: point the workers of this machine to it',
    `  SIGNALBOX_FACE=${socket} signalbox worker mcp --token-file rosa.token`,
  ];
}
