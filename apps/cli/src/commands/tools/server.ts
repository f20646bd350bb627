import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';
import type { ServerAction } from '../../tools/server.ts';

/** Defines `signalbox tools reload`. */
export function toolsReloadCommand(): Command {
  return serverCommand(
    'reload',
    'Restart a server with new sessions; its failures, counters and cached answers are forgotten. For the operator.',
    'Its configuration stays as it is; a changed signalbox.yaml is read by itself.',
  );
}

/** Defines `signalbox tools stop`. */
export function toolsStopCommand(): Command {
  return serverCommand(
    'stop',
    "End a server's processes until it is started or reloaded. For the operator.",
    'Its tools stay in the lists, and calls of them fail until it is up again.',
  );
}

/** Defines `signalbox tools start`. */
export function toolsStartCommand(): Command {
  return serverCommand(
    'start',
    'Start a server that was stopped, or that waits for its first call. For the operator.',
    'A server that was ejected is restarted with: signalbox tools reload SERVER',
  );
}

function serverCommand(action: ServerAction, description: string, remark: string): Command {
  const command = withConnectionOptions(
    new Command(action).description(description).argument('<server>', 'its name, as tools status shows it'),
  );
  withOrchestratorOption(command);
  command.addHelpText('after', `\n${remark} Exit code 1: it is not up after a reload or start.`);
  withExamples(withJsonOption(command), `signalbox tools ${action} everything`);
  return command.action(async (server: string, flags: ToolsFlags) => {
    const { toolsServer } = await import('../../tools/server.ts');
    await toolsServer(action, server, flags);
  });
}
