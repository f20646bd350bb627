import { Command } from 'commander';
import {
  roleOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsListFlags } from '../../tools/list.ts';

/** Defines `signalbox tools list`. */
export function toolsListCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List the tools that your role may use.'),
  ).option('--role <role>', 'list the tools of this role instead, for operators and observers', roleOption);
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools list --token-file researcher.token',
    'signalbox tools list --role researcher',
    'signalbox tools list --json',
  );
  return command.action(async (flags: ToolsListFlags) => {
    const { listTools } = await import('../../tools/list.ts');
    await listTools(flags);
  });
}
