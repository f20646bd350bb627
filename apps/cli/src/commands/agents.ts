import { Command } from 'commander';
import type { AgentsFlags } from '../agents/agents.ts';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';

/** Defines `signalbox agents`, also `signalbox ps`. */
export function agentsCommand(): Command {
  const command = withConnectionOptions(
    new Command('agents')
      .alias('ps')
      .description('List who is connected, what each agent is doing, and how much mail waits for it.'),
  )
    .option('--role <role>', 'only agents in this role')
    .addHelpText('after', legend);
  withExamples(withJsonOption(command), 'signalbox agents');
  return command.action(async (flags: AgentsFlags) => {
    const { listAgents } = await import('../agents/agents.ts');
    await listAgents(flags);
  });
}

const legend = `
STATE is idle, or working and the number of tool calls that run; connected, where the agent does not say.
LAST OUTPUT is what the process of signalbox worker run printed last, or what a program of your own announced.
UNREAD are the messages that wait in its inbox, HELD those of them that it has and did not acknowledge. The operator
sees these of all agents, an agent its own. With --json there is one entry a connection.`;
