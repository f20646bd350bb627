import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsCancelFlags } from '../../tools/cancel.ts';

/** Defines `signalbox tools cancel`. */
export function toolsCancelCommand(): Command {
  const command = withConnectionOptions(
    new Command('cancel')
      .description('Cancel a waiting or running tool call of any agent. For the operator.')
      .argument('<request-id>', 'id of the request, as tools calls shows it'),
  )
    .option('--of <agent>', 'the agent that made it; needed only if several have a call with this id')
    .option('--reason <text>', 'why; the agent is told');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nThe agent is told at once that you cancelled it. A running tool is told to stop, but may have taken effect\nall the same: the answer says whether it may have. Exit code 1: the call had ended before, or did not end.',
  );
  withExamples(
    withJsonOption(command),
    "signalbox tools cancel 0k3v9x2m1a-V1StGXR8Z5jdH --reason 'wrong branch'",
  );
  return command.action(async (requestId: string, flags: ToolsCancelFlags) => {
    const { cancelToolCall } = await import('../../tools/cancel.ts');
    await cancelToolCall(requestId, flags);
  });
}
