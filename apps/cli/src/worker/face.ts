import { findConfig } from '@signalbox/config/internal';
import { isSupervised } from '@signalbox/daemon/supervisor';
import { serveSharedFace } from '@signalbox/worker/internal';
import { loadFound } from '../config/load-found.ts';
import { announceReady } from '../daemons/announce-ready.ts';
import { faultFromEnvironment } from '../process/fault-environment.ts';
import { logInto, openLog } from '../process/log.ts';
import { stopRequested } from '../process/stop-signals.ts';
import { ownTracing } from '../process/tracing.ts';
import { ownVersion } from '../process/version.ts';
import { type FaceConnectFlags, faceConnect } from './face-connect.ts';
import type { FaceReady } from './face-socket.ts';

/** The options of `signalbox worker face`. */
export interface WorkerFaceFlags extends FaceConnectFlags {
  /** The path of the Unix socket. */
  socket: string;
  /** Further addresses of the same broker. */
  alias?: string[];
  json?: boolean;
}

/** Serves the shims of many agents on a Unix socket until the process is asked to end. */
export async function runWorkerFace(flags: WorkerFaceFlags): Promise<void> {
  const fault = faultFromEnvironment(process.env);
  const found = findConfig(flags.config, { search: !isSupervised() });
  const config = await loadFound(found, { parts: ['broker', 'orchestrator', 'worker'] });
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
  const ready: FaceReady = { socket: face.path, broker: connect.url };
  announceReady({ ...ready, pid: process.pid }, readyLines(ready), flags);
  log.info({ reason: await stop }, 'ending');
}

function readyLines({ socket, broker }: FaceReady): string[] {
  return [
    `shared face ready at ${socket}`,
    `  broker   ${broker}`,
    '',
    'Next: point the workers of this machine to it',
    `  SIGNALBOX_FACE=${socket} signalbox worker mcp --token-file rosa.token`,
  ];
}
