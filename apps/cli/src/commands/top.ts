import { Command, Option } from 'commander';
import {
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { TopFlags } from '../top/top.ts';
import { rankings } from './tools/top.ts';

/** Defines `signalbox top`. */
export function topCommand(): Command {
  const command = withConnectionOptions(
    new Command('top').description(
      'Watch live what is busy: messages, what waits for each role, and the tools by calls, errors, times or bytes. For the operator.',
    ),
    { agent: false },
  )
    .addOption(
      new Option('--by <what>', 'what the first tools have most of').choices(rankings).default('calls'),
    )
    .addOption(timeOption('--since <time>', 'of which time tools are ranked, at most 24h', '10m'));
  withOrchestratorOption(command).addHelpText(
    'after',
    '\nOn a terminal it is shown anew every two seconds, until Ctrl-C. Into a pipe or a file, and with --json, it is printed once.\nRates are those of the last minute.',
  );
  withExamples(withJsonOption(command), 'signalbox top', 'signalbox top --by p95 --since 1h');
  return command.action(async (flags: TopFlags) => {
    const { top } = await import('../top/top.ts');
    await top(flags);
  });
}
