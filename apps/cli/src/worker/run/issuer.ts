import { type BrokerClient, requestAddress } from '@signalbox/client';
import type { ProcessTokenOptions } from '@signalbox/worker/internal';
import { openClient } from '../../connection/connected-client.ts';
import type { WorkerRunFlags } from './flags.ts';
import type { RunIdentity } from './identity.ts';

/** Returns the options of the tokens that are issued for the agents. The agent that started us is told of their ends. */
export function tokenOptions(
  {
    role,
    ttl,
    parent = process.env.SIGNALBOX_AGENT || undefined,
  }: Pick<WorkerRunFlags, 'role' | 'ttl' | 'parent'>,
  onEvent: ProcessTokenOptions['onEvent'],
): ProcessTokenOptions {
  return {
    ...(role !== undefined && { role }),
    ...(ttl !== undefined && { ttlMs: ttl }),
    ...(parent !== undefined && { parent }),
    onEvent,
  };
}

/** Connects with a token that may issue others; a plain token, which may not, is used as it is. */
export async function openIssuer({ connection, kind }: RunIdentity): Promise<BrokerClient | undefined> {
  if (kind === 'plain') return undefined;
  return await openClient(
    connection,
    kind === 'minting' ? connection.agent : requestAddress(connection.agent),
  );
}
