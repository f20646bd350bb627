import { AgentCard } from '@a2a-js/sdk';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { OutsideAgent } from '../../config/config.ts';

/** The versions of the protocol that are spoken, the best one first. */
const versions = ['1.0', '0.3'];
const bindings = ['JSONRPC', 'HTTP+JSON'];
const modes = ['text/plain', 'application/json'];

/** Makes the card of an agent, which is served at `url`. It says nothing that the configuration does not say. */
export function agentCard(agent: OutsideAgent, url: string, version: string): AgentCard {
  return {
    name: agent.name,
    description: agent.description,
    supportedInterfaces: versions.flatMap((protocolVersion) =>
      bindings.map((protocolBinding) => ({ url, protocolBinding, protocolVersion, tenant: '' })),
    ),
    provider: undefined,
    version,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {
      bearer: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: {
            scheme: 'Bearer',
            bearerFormat: '',
            description: 'a token of Signalbox, or of its identity provider',
          },
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: agent.skills.map((skill) => ({
      ...skill,
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    })),
    signatures: [],
  };
}

/** Writes a card as clients of a version read it. */
export async function cardJson(card: AgentCard, isLegacy: boolean): Promise<unknown> {
  if (!isLegacy) return AgentCard.toJSON(card);
  const source = { getAuthenticatedExtendedAgentCard: async () => card } as Partial<A2ARequestHandler>;
  const translator = new LegacyRestTransportHandler(source as A2ARequestHandler);
  return await translator.getAuthenticatedExtendedAgentCard(new ServerCallContext());
}
