import type { BrokerClient } from '@signalbox/client';
import type { BrokerSample, OrchestratorSample, SamplesQuery, SamplesReply } from '@signalbox/protocol';
import { queryOrchestrator } from '../orchestrator/orchestrator-request.ts';

/** Reads samples of metrics of the broker that this client is connected to. */
export async function readBrokerSamples(
  client: BrokerClient,
  { of, ...query }: SamplesQuery<BrokerSample>,
): Promise<SamplesReply> {
  return await client.admin('samples', { ...query, of: of.map(mutable) });
}

/** Reads samples of metrics of an orchestrator. Rejects as `queryOrchestrator`. */
export async function readOrchestratorSamples(
  client: BrokerClient,
  orchestrator: string,
  { of, ...query }: SamplesQuery<OrchestratorSample>,
  options: { timeoutMs?: number } = {},
): Promise<SamplesReply> {
  return await queryOrchestrator(
    client,
    orchestrator,
    { op: 'samples', ...query, of: of.map(mutable) },
    options,
  );
}

function mutable<Name extends string>({ metric, by, where }: SamplesQuery<Name>['of'][number]) {
  return { metric, ...(by && { by: [...by] }), ...(where && { where: { ...where } }) };
}
