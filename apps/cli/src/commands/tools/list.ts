import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';

/** Defines `signalbox tools list`. */
export function toolsListCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List the tools that your role may use.'),
  );
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools list --token-file researcher.token',
    'signalbox tools list --json',
  );
  return command.action(async (flags: ToolsFlags) => {
    const { listTools } = await import('../../tools/list.ts');
    await listTools(flags);
  });
}
