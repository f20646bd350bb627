import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsResultFlags } from '../../tools/result.ts';

/** Defines `signalbox tools result`. */
export function toolsResultCommand(): Command {
  const command = withConnectionOptions(
    new Command('result')
      .description('Show the state of a call: queued, running, or finished with its reply.')
      .argument('<request-id>', 'id of the request, as tools calls and the error of tools call show it'),
  ).option('--of <agent>', 'the call of this agent, if several have one of this id');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nUse a token of the agent that made the call, or one of the operator. A reply is kept for 24 hours if its call\ntook 10 s or longer, or if nobody was there to read it. Other replies are kept while the orchestrator remembers them.\nExit codes: 75 while it waits or runs, 1 if it is unknown, else that of the call itself.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools result 0k3v9x2m1a-V1StGXR8Z5jdH --token-file researcher.token',
    'signalbox tools result 0k3v9x2m1a-V1StGXR8Z5jdH',
  );
  return command.action(async (requestId: string, flags: ToolsResultFlags) => {
    const { callResult } = await import('../../tools/result.ts');
    await callResult(requestId, flags);
  });
}
