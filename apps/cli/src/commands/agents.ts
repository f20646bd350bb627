import { Command } from 'commander';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { AgentsFlags } from '../messages/agents.ts';

/** `signalbox agents`, also `signalbox ps`. */
export function agentsCommand(): Command {
  const command = withConnectionOptions(
    new Command('agents').alias('ps').description('List who is connected, with role and announced status.'),
  ).option('--role <role>', 'only agents in this role');
  withExamples(withJsonOption(command), 'signalbox agents --config signalbox.yaml');
  return command.action(async (flags: AgentsFlags) => {
    const { listAgents } = await import('../messages/agents.ts');
    await listAgents(flags);
  });
}
