import type { BrokerClient } from '@signalbox/client';
import type { AdminResult } from '@signalbox/protocol';

/** An agent whose program ended with a failure and has not come back. `failed_at` is in epoch milliseconds. */
export type FailedProgram = AdminResult<'failures'>['agents'][number];

/** Lists the agents whose programs ended with a failure in the last 24 h and have not come back. */
export async function listFailedPrograms(client: BrokerClient): Promise<FailedProgram[]> {
  return (await client.admin('failures', {})).agents;
}
