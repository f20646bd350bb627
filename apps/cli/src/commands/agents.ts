import { Command } from 'commander';
import type { AgentsFlags } from '../agents/agents.ts';
import { roleOption, withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';

/** Defines `signalbox agents`, also `signalbox ps`. */
export function agentsCommand(): Command {
  const command = withConnectionOptions(
    new Command('agents')
      .alias('ps')
      .description('List who is connected, what each agent is doing, and for whom mail waits, also offline.'),
  )
    .option('--role <role>', 'only agents in this role', roleOption)
    .addHelpText('after', legend);
  withExamples(withJsonOption(command), 'signalbox agents');
  return command.action(async (flags: AgentsFlags) => {
    const { listAgents } = await import('../agents/agents.ts');
    await listAgents(flags);
  });
}

const legend = `
STATE is idle; working, with the number of tool calls that run; connected, if the agent announces no state; or offline, if it is
not connected and has mail. If STATE begins with held, an operator holds the agent, and a line below the table says who, since
when and why. Further lines name the turns of worker serve that run, with the uses of tools that its agents tell, and the processes that
it keeps, the tool calls that run or wait, and budgets of calls in use (for operators). FOR is how long the agent has been connected.
MAIL counts the messages that wait in its inbox: "4 (2 handed out)" if it was handed 2 of them and has not acknowledged them,
or for an offline agent "4 (3 h)" if the oldest has waited for 3 h. Operators and observers see the mail of all agents. An agent sees
its own, and ? for the others. LAST OUTPUT is the last line that the process of signalbox worker run printed, or the text that
a program of your own announced. A narrow terminal shows no CLIENT and LAST OUTPUT.
With --json there is one entry for each connection. "offline" lists the offline agents, "holds" the holds,
"calls" the tool calls that run or wait, "budgets" those in use, and "approvals_waiting" counts those that wait for a person; they are null for
an agent's own token.`;
