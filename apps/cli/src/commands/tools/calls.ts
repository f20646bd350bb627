import { Command } from 'commander';
import {
  agentOption,
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
    { agent: false },
  )
    .option('--running', 'only those that wait or run now')
    .addOption(timeOption('--since <time>', 'only those that came in within this time, as in 1h'))
    .option('--agent <agent>', 'only those of this agent, for operators', agentOption)
    .option('--tool <text>', 'only those of tools with this in their names, as in files:read')
    .option('--outcome <text>', 'only those with this in their outcomes or states, as in error')
    .option('--limit <n>', 'show at most this many, up to 1000, or 100 of an agent’s own', countOption, 100);
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nOperators see calls that ended before the orchestrator started, too, from the audit log. signalbox tools result ID says more\nof one, and why it was refused.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools calls --running',
    'signalbox tools calls --agent rosa --tool files: --since 1h',
    'signalbox tools calls --outcome error --json',
    'signalbox tools calls --token-file researcher.token',
  );
  return command.action(async ({ agent, ...flags }: ToolsCallsFlags & { agent?: string }) => {
    const { printCalls } = await import('../../tools/calls.ts');
    await printCalls({ ...flags, ...(agent !== undefined && { about: agent }) });
  });
}
