import { Command } from 'commander';
import type { AgentsFlags } from '../agents/agents.ts';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';

/** Defines `signalbox agents`, also `signalbox ps`. */
export function agentsCommand(): Command {
  const command = withConnectionOptions(
    new Command('agents')
      .alias('ps')
      .description('List who is connected, what each agent is doing, and for whom mail waits, also offline.'),
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
STATE is idle, or working and the number of tool calls that run; connected, where the agent does not say; offline, if it is
not connected and has mail. FOR is how long it has been connected. Where STATE begins with held, an operator holds the agent;
a line below the table says who, since when and why. Another line counts the tool calls that wait for a person.
MAIL are the messages that wait in its inbox, as in "4 (2 held)", if it holds 2 of them and did not acknowledge them, and
of an offline agent as in "4 (3 h)", if the oldest waits for 3 h. Operators and observers see this of all agents, an
agent its own: ? stands for others. A narrow terminal shows no CLIENT and LAST OUTPUT.
LAST OUTPUT is what the process of signalbox worker run printed last, or what a program of your own announced.
With --json there is one entry a connection; "offline" lists the offline agents, "holds" what is held, and
"approvals_waiting" counts the calls that wait for a person: null for an agent's own token.`;
