import { Command } from 'commander';
import {
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsCallsFlags } from '../../tools/calls.ts';

/** Defines `signalbox tools calls`. */
export function toolsCallsCommand(): Command {
  const command = withConnectionOptions(
    new Command('calls').description(
      'List tool calls of all agents: those that wait, run, or ended. For the operator.',
    ),
  )
    .option('--running', 'only those that wait or run now')
    .addOption(timeOption('--since <time>', 'only those that came in within this time, as in 1h'))
    .option('--limit <n>', 'show at most this many, up to 1000', countOption, 100);
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools calls --running',
    'signalbox tools calls --since 1h --json',
  );
  return command.action(async (flags: ToolsCallsFlags) => {
    const { printCalls } = await import('../../tools/calls.ts');
    await printCalls(flags);
  });
}
