import type { ListedRoles } from '@signalbox/daemon/config/internal';
import { SignalboxError } from '@signalbox/protocol';
import { configBeside } from '../config/config-beside.ts';
import type { ConnectionFlags } from '../connection/connection.ts';

/**
 * Reads the roles of the configuration that goes with the broker at `url`. Returns `undefined` if there is none, or if it cannot be read.
 */
export async function listedRoles(
  flags: ConnectionFlags,
  url: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ListedRoles | undefined> {
  try {
    return await configBeside(flags, url, ['roles', 'unlisted'], env);
  } catch (error) {
    if (error instanceof SignalboxError) return undefined;
    throw error;
  }
}
