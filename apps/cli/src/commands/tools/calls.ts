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
      'List tool calls that wait, run, or ended: with a token of the operator those of all agents, with a token of an agent its own.',
    ),
  )
    .option('--running', 'only those that wait or run now')
    .addOption(timeOption('--since <time>', 'only those that came in within this time, as in 1h'))
    .option('--limit <n>', 'show at most this many, up to 1000, or 100 of an agent’s own', countOption, 100);
  withOrchestratorOption(command);
  command.addHelpText('after', '\nsignalbox tools result ID says more of one, and why it was refused.');
  withExamples(
    withJsonOption(command),
    'signalbox tools calls --running',
    'signalbox tools calls --since 1h --json',
    'signalbox tools calls --token-file researcher.token',
  );
  return command.action(async (flags: ToolsCallsFlags) => {
    const { printCalls } = await import('../../tools/calls.ts');
    await printCalls(flags);
  });
}
