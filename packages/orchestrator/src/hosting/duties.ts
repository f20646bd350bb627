import type { BrokerClient } from '@signalbox/client';

/** What an orchestrator asks of the broker, and tells it, about all agents. */
export type Duties = Pick<
  BrokerClient,
  'agent' | 'state' | 'audit' | 'checkTokens' | 'onHolds' | 'listConnected' | 'deliver'
>;

/**
 * Returns the duties of an orchestrator with a label: none. Calls come to it after the rules, so no hold and no decision concerns it, and the
 * orchestrator that passed them on reports them. The broker would refuse each of these questions.
 */
export function noDuties(client: BrokerClient): Duties {
  return {
    agent: client.agent,
    get state() {
      return client.state;
    },
    audit: async () => {},
    checkTokens: async () => ({ decide: [], minters: [] }),
    onHolds: (listener) => {
      listener({ holds: [], approvers: [] });
      return () => {};
    },
    listConnected: async () => [],
    deliver: (message) => client.deliver(message),
  };
}
