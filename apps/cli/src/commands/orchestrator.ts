import { Command } from 'commander';
import { reloadHelp, withExamples, withJsonOption } from '../command-options.ts';
import type { OrchestratorFlags } from '../daemons/orchestrator.ts';

/** Defines `signalbox orchestrator`. */
export function orchestratorCommand(): Command {
  const command = new Command('orchestrator')
    .description('Host the configured MCP servers and serve their tools to workers by role.')
    .option('--config <file>', 'configuration; ./signalbox.yaml where there is one')
    .option('--url <url>', 'the broker, as in ws://127.0.0.1:7420 (or SIGNALBOX_URL)')
    .option(
      '--token-file <file>',
      'file that holds the orchestrator’s token; made by itself beside the broker’s data',
    )
    .option('--data <dir>', 'data directory of a broker on this machine');
  command.addHelpText('after', reloadHelp);
  withExamples(withJsonOption(command), 'signalbox orchestrator --config signalbox.yaml');
  return command.action(async (flags: OrchestratorFlags) => {
    const { orchestratorProcess } = await import('../daemons/orchestrator.ts');
    await orchestratorProcess(flags);
  });
}
