import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';
import type { ServersFlags } from '../../servers/status.ts';

/** Defines `signalbox servers list`. */
export function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List the MCP servers, and how each is doing. For the operator.'),
  ).option('--verbose', 'all that is known of each, with the end of its standard error');
  withOrchestratorOption(command).addHelpText('after', states).addHelpText('after', columns);
  withExamples(withJsonOption(command), 'signalbox servers list', 'signalbox servers list --verbose');
  return command.action(async (flags: ServersFlags) => {
    const { listServers } = await import('../../servers/status.ts');
    await listServers(flags);
  });
}

/** Defines `signalbox servers show`. */
export function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show')
      .description(
        'Show all that is known of one server, with the end of its standard error. For the operator.',
      )
      .argument('<server>', 'its name, as servers list shows it'),
  );
  withOrchestratorOption(command).addHelpText('after', states);
  withExamples(withJsonOption(command), 'signalbox servers show everything');
  return command.action(async (server: string, flags: ToolsFlags) => {
    const { showServer } = await import('../../servers/status.ts');
    await showServer(server, flags);
  });
}

const states = `
States: ready, starting, idle (the first call starts it), backing_off (it failed; the next start is near), ejected (it
failed too often, or its command is missing), refused (it is Signalbox itself), needs_auth (a person has to sign in),
stopped (by servers stop), disabled (by the configuration), away (its host is not there), not_offered (its host has never had it).`;

const columns = `RUNNING and WAITING are calls now; P50 and P95 are times of calls; CACHE is answers kept / given from there.`;
