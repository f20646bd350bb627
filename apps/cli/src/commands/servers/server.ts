import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';
import type { ServerAction } from '../../servers/server.ts';

/** Defines `signalbox servers reload`. */
export function reloadCommand(): Command {
  return serverCommand(
    'reload',
    'Restart a server with new instances; its failures, counters and cached answers are forgotten. For the operator.',
    'Its configuration stays as it is; a changed signalbox.yaml is read by itself.',
  );
}

/** Defines `signalbox servers stop`. */
export function stopCommand(): Command {
  return serverCommand(
    'stop',
    "End a server's processes until it is started or reloaded. For the operator.",
    'Its tools stay in the lists, and calls of them fail until it is up again.',
  );
}

/** Defines `signalbox servers start`. */
export function startCommand(): Command {
  return serverCommand(
    'start',
    'Start a server that was stopped, or that waits for its first call. For the operator.',
    '"signalbox servers reload SERVER" restarts one that was ejected.',
  );
}

function serverCommand(action: ServerAction, description: string, remark: string): Command {
  const command = withConnectionOptions(
    new Command(action).description(description).argument('<server>', 'its name, as servers list shows it'),
  );
  withOrchestratorOption(command);
  command.addHelpText('after', `\n${remark} Exit code 1: it is not up after a reload or start.`);
  withExamples(withJsonOption(command), `signalbox servers ${action} everything`);
  return command.action(async (server: string, flags: ToolsFlags) => {
    const { changeServer } = await import('../../servers/server.ts');
    await changeServer(action, server, flags);
  });
}
