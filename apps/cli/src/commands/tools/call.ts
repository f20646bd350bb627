import { Command } from 'commander';
import {
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsCallFlags } from '../../tools/call.ts';

/** Defines `signalbox tools call`. */
export function toolsCallCommand(): Command {
  const command = withConnectionOptions(
    new Command('call')
      .description('Call one tool and print its answer.')
      .argument('<tool>', 'the tool, as tools list shows it, or as SERVER:TOOL')
      .argument('[arguments]', 'its arguments as one JSON object; - reads them from standard input', '{}'),
  ).addOption(
    timeOption(
      '--timeout <time>',
      'give up after this time, also while the call waits for a person, as in 30s; default 60s, and the time for which calls may wait for a person',
    ),
  );
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    `signalbox tools call everything:echo '{"message":"hello"}' --token-file researcher.token`,
  );
  return command.action(async (name: string, text: string, flags: ToolsCallFlags) => {
    const { callTool } = await import('../../tools/call.ts');
    await callTool(name, text, flags);
  });
}
