import type { BrokerClient } from '@signalbox/client';
import type { ConnectedAgent } from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';
import { answer, type MailboxTool, mailboxTool, readOnly } from './mailbox-tool.ts';

/** The most agents that one answer names. */
const maxAgents = 100;
const maxStatusText = 200;

interface AgentEntry {
  agent: string;
  role: string;
  you?: true;
  connections: number;
  /** ISO time of the oldest connection. */
  since: string;
  /** The statuses that its connections announced. */
  status?: unknown[];
}

/** Makes the tool that lists the connected agents. */
export function agentsTool(client: BrokerClient): MailboxTool {
  return mailboxTool({
    name: 'signalbox_list_agents',
    title: 'List agents',
    description:
      'Shows which agents are connected now, with the role that the broker attests, and what they say of themselves. An agent that is not connected can be written to all the same: its messages wait for it.',
    fields: {
      role: { type: 'string', description: 'Only agents of this role.', minLength: 1, maxLength: 64 },
    },
    outputSchema: {
      type: 'object',
      properties: {
        agents: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              agent: { type: 'string' },
              role: { type: 'string' },
              you: { const: true },
              connections: { type: 'integer', minimum: 1 },
              since: { type: 'string', description: 'ISO time of its oldest connection.' },
              status: { type: 'array', description: 'What its connections say of themselves, not attested.' },
            },
            required: ['agent', 'role', 'connections', 'since'],
          },
        },
        more: { type: 'integer', minimum: 0 },
      },
      required: ['agents', 'more'],
    },
    annotations: readOnly,
    async run({ role }) {
      const connected = await client.listConnected({ withStatus: true, ...(role !== undefined && { role }) });
      const all = byAgent(connected, client.agent);
      const agents = all.slice(0, maxAgents);
      const more = all.length - agents.length;
      const lines = agents.map(agentLine);
      if (more > 0) lines.push(`and ${more} more; ask for one role`);
      const none = `No agent${role === undefined ? '' : ` of the role '${role}'`} is connected that you may see.`;
      return answer(lines.length > 0 ? lines.join('\n') : none, { agents, more });
    },
  });
}

function byAgent(connected: readonly ConnectedAgent[], own: string): AgentEntry[] {
  return [...Map.groupBy(connected, ({ agent }) => agent)]
    .map(([agent, connections]) => {
      const status = connections.flatMap((one) => (one.status === undefined ? [] : [one.status]));
      return {
        agent,
        role: connections[0]!.role,
        ...(agent === own && { you: true as const }),
        connections: connections.length,
        since: new Date(Math.min(...connections.map((one) => one.connected_at))).toISOString(),
        ...(status.length > 0 && { status }),
      };
    })
    .sort((a, b) => (a.agent < b.agent ? -1 : 1));
}

function agentLine({ agent, role, you, since, status = [] }: AgentEntry): string {
  const words = status.map((one) => oneLine(JSON.stringify(one)));
  const says = words.length > 0 ? `; says of itself: ${words.join(', ')}` : '';
  return `${agent} (role ${role}${you ? ', this is you' : ''}), connected since ${since}${says}`;
}

function oneLine(text: string): string {
  const flat = visible(text.replace(/\s+/g, ' '));
  return flat.length <= maxStatusText ? flat : `${flat.slice(0, maxStatusText - 1)}…`;
}
