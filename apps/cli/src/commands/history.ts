import { Command } from 'commander';
import {
  agentOrGroupOption,
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { HistoryFlags } from '../history/print-timeline.ts';

/** Defines `signalbox history`. */
export function historyCommand(): Command {
  const command = withConnectionOptions(
    new Command('history').description(
      'Show messages and tool calls as one timeline: each request with its call and its answer. For the operator.',
    ),
    { agent: false },
  )
    .addOption(timeOption('--since <time>', 'how far back, as in 1h; default 1h'))
    .option(
      '--agent <agent>',
      'only what this agent sent, got or called, or what a group got',
      agentOrGroupOption,
    )
    .option('--correlation <id>', 'only the request with this id, and what belongs to it')
    .option('--limit <n>', 'show at most this many rows, the newest; with --json entries', countOption, 200)
    .option('-v, --verbose', 'also the messages of which a tool call consists');
  withOrchestratorOption(command).addHelpText(
    'after',
    `
Without an orchestrator the command shows the messages only, and says on standard error that the calls are missing. Operators
see the first line of each text, as long as the broker keeps it (broker.keepBodies); what has the form of a credential is not
shown, and each use is in the audit log.`,
  );
  withExamples(
    withJsonOption(command),
    'signalbox history --since 1h',
    'signalbox history --agent writer-1 --since 10m --json',
  );
  return command.action(async ({ agent, ...flags }: HistoryFlags) => {
    const { printTimeline } = await import('../history/print-timeline.ts');
    await printTimeline({ ...flags, ...(agent !== undefined && { about: agent }) });
  });
}
