import { Command } from 'commander';
import {
  allowExposedOption,
  reloadHelp,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { OrchestratorFlags } from '../daemons/orchestrator.ts';

/** Defines `signalbox orchestrator`. */
export function orchestratorCommand(): Command {
  const command = withConnectionOptions(
    new Command('orchestrator').description(
      'Host the configured MCP servers and serve their tools to workers by role.',
    ),
    {
      agent: false,
      tokenFile:
        'file that holds the orchestrator’s token; by default one beside the broker’s data, which is made if it is missing',
    },
  ).addOption(allowExposedOption());
  command.addHelpText('after', reloadHelp);
  withExamples(withJsonOption(command), 'signalbox orchestrator');
  return command.action(async (flags: OrchestratorFlags) => {
    const { orchestratorProcess } = await import('../daemons/orchestrator.ts');
    await orchestratorProcess(flags);
  });
}
