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
      .description('Ask what became of a call: queued, running, or finished with its reply.')
      .argument('<request-id>', 'id of the request, as a failed tools call and tools calls say it'),
  ).option('--of <agent>', 'a call of this agent, with a token of the operator');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nA call is found by who made it: use a token of the same agent, or name it with --of. A reply is kept for 24 hours if\nits call took 10 s or longer, or if nobody was there to read it; others as long as the orchestrator remembers them.\nExit codes: 75 while it waits or runs, 1 if it is unknown, else that of the call itself.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools result 0k3v9x2m1a-V1StGXR8Z5jdH --token-file researcher.token',
    'signalbox tools result 0k3v9x2m1a-V1StGXR8Z5jdH --of researcher-1',
  );
  return command.action(async (requestId: string, flags: ToolsResultFlags) => {
    const { callResult } = await import('../../tools/result.ts');
    await callResult(requestId, flags);
  });
}
