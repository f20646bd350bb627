import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';

/** Defines `signalbox servers discover`. */
export function discoverCommand(): Command {
  const command = withConnectionOptions(
    new Command('discover').description(
      'Ask every MCP server for its tools, and start those that were not needed yet. For the operator.',
    ),
  );
  withOrchestratorOption(command);
  command.addHelpText('after', '\nExit code 1: a server could not be asked; it is listed with its error.');
  withExamples(withJsonOption(command), 'signalbox servers discover');
  return command.action(async (flags: ToolsFlags) => {
    const { discover } = await import('../../servers/discover.ts');
    await discover(flags);
  });
}
