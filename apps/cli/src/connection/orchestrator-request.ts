import {
  type OrchestratorAnswer,
  type OrchestratorQuery,
  queryOrchestrator,
} from '@signalbox/client/operator';
import { isAddress, SignalboxError } from '@signalbox/protocol';
import { recipientText } from '../messages/why-waiting.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { type ConnectedClient, withClient } from './connected-client.ts';
import type { ConnectionFlags } from './connection.ts';

/** The option that names the orchestrator; by default it is the one of the configuration. */
export interface OrchestratorFlag {
  orchestrator?: string;
}

/** The options of commands that ask the orchestrator. */
export interface ToolsFlags extends ConnectionFlags, OrchestratorFlag {
  json?: boolean;
}

/**
 * Returns the agent id of the orchestrator to ask, for which the command waits from now on. Throws `usage` if the option is not an agent id.
 */
export async function orchestratorOf(connected: ConnectedClient, flags: OrchestratorFlag): Promise<string> {
  const { orchestrator = await connected.connection.orchestrator() } = flags;
  if (isAddress(orchestrator)) {
    connected.waits.for(() => recipientText(connected, orchestrator, 'to answer'));
    return orchestrator;
  }
  throw new SignalboxError('usage', `--orchestrator '${orchestrator}' is not an agent id`, {
    details: {
      hint: 'ids are lower-case, as in orchestrator; leave it out to take the one of the configuration',
    },
  });
}

/** Connects, asks the orchestrator and returns its answer. A signal withdraws the question. */
export async function askOrchestrator<Query extends OrchestratorQuery>(
  flags: ToolsFlags,
  query: Query,
  timeoutMs?: number,
): Promise<OrchestratorAnswer<Query['op']>> {
  return await withClient(flags, async (connected) => {
    using withdrawal = withdrawOnSignal();
    return await queryOrchestrator(connected.client, await orchestratorOf(connected, flags), query, {
      signal: withdrawal.signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  });
}
