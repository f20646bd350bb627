import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsStatusFlags } from '../../tools/status.ts';

/** Defines `signalbox tools status`. */
export function toolsStatusCommand(): Command {
  const command = withConnectionOptions(
    new Command('status')
      .description('Show how each MCP server is doing. For the operator.')
      .argument('[server]', 'only this one, with all that is known of it'),
  ).option('--verbose', 'all that is known of each, with the end of its standard error');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    `
States: ready, starting, idle (the first call starts it), backing_off (it failed; the next start is near), ejected (it
failed too often, or its command is missing), refused (it is Signalbox itself), needs_auth (a person has to sign in),
stopped (by tools stop), disabled (by the configuration).
RUNNING and WAITING are calls now; P50 and P95 are times of calls; CACHE is answers kept / given from there.`,
  );
  withExamples(withJsonOption(command), 'signalbox tools status', 'signalbox tools status everything');
  return command.action(async (server: string | undefined, flags: ToolsStatusFlags) => {
    const { toolsStatus } = await import('../../tools/status.ts');
    await toolsStatus(server, flags);
  });
}
