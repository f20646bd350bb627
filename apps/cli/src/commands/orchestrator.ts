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
  )
    .option(
      '--host <label>',
      'serve the tools of this machine under a label to the orchestrator without one, which has the rules; default orchestrator.host',
    )
    .addOption(allowExposedOption());
  command.addHelpText('after', reloadHelp);
  withExamples(
    withJsonOption(command),
    'signalbox orchestrator',
    'signalbox orchestrator --url wss://hub.example.com:7420 --token-file gpu.token --host gpu',
  );
  return command.action(async (flags: OrchestratorFlags) => {
    const { orchestratorProcess } = await import('../daemons/orchestrator.ts');
    await orchestratorProcess(flags);
  });
}
