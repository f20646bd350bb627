import { SignalboxError } from '@signalbox/protocol';
import { parseDuration } from '@signalbox/protocol/duration';
import type { FaceLimits } from '@signalbox/serving';
import {
  type CleanupProcess,
  openRunFace,
  type RunFace,
  type RunWarning,
  runRoots,
} from '@signalbox/worker/internal';
import { configBeside } from '../../config/config-beside.ts';
import type { ConnectionFlags } from '../../connection/connection.ts';
import { ownTracing } from '../../process/tracing.ts';
import { ownVersion } from '../../process/version.ts';
import { mcpDefaults } from '../mcp-defaults.ts';
import type { RunIdentity } from './identity.ts';

/** Reads `worker.limits` of the configuration that goes with the broker. The defaults hold where it can't be read. */
export async function faceLimitsOf(
  flags: ConnectionFlags,
  { connection }: RunIdentity,
  warn: (code: RunWarning, message: string) => void,
): Promise<Partial<FaceLimits>> {
  try {
    return (await configBeside(flags, connection.url, ['worker']))?.worker.limits ?? {};
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    warn('config_unread', `worker.limits could not be read, and the defaults hold: ${error.message}`);
    return {};
  }
}

/** Opens the face that serves the agents from this process. Where that cannot be, each agent serves itself. */
export async function ownFace(
  { connection, orchestrator }: RunIdentity,
  cleanup: CleanupProcess,
  limits: Partial<FaceLimits>,
  warn: (code: RunWarning, message: string) => void,
): Promise<RunFace | undefined> {
  const { url, insecure, authorities } = connection;
  try {
    return await openRunFace({
      roots: runRoots(process.env),
      cleanup,
      connect: {
        url,
        insecure,
        ...(authorities && { ca: authorities.pem }),
        orchestrator,
        timeoutMs: parseDuration(mcpDefaults.timeout)!,
        tracing: await ownTracing(),
      },
      face: { version: ownVersion() },
      limits,
    });
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    warn('no_shared_face', `each agent's tools are served by a process of its own: ${error.message}`);
    return undefined;
  }
}
