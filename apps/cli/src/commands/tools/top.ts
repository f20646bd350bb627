import type { Ranking } from '@signalbox/client/operator';
import { Command, Option } from 'commander';
import {
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsTopFlags } from '../../tools/top.ts';

const ways = { calls: true, errors: true, p95: true, bytes: true } satisfies Record<Ranking, true>;
/** The ways to rank tools. They are named here again, because a help loads no client. */
export const rankings = Object.keys(ways);

/** Defines `signalbox tools top`. */
export function toolsTopCommand(): Command {
  const command = withConnectionOptions(
    new Command('top').description(
      'Rank the tools that were called: by calls, errors, times or bytes of replies. For the operator.',
    ),
    { agent: false },
  )
    .addOption(
      new Option('--by <what>', 'what the first ones have most of').choices(rankings).default('calls'),
    )
    .addOption(timeOption('--since <time>', 'how far back, at most 24h', '1h'))
    .option('--limit <n>', 'show at most this many tools', countOption, 20);
  withOrchestratorOption(command).addHelpText(
    'after',
    '\nThe orchestrator keeps the figures itself for a day. A call that reached its server counts when it has ended; times are read from buckets, so that a few calls give rough ones. Live: signalbox top.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools top',
    'signalbox tools top --by p95 --since 24h',
    'signalbox tools top --by errors --json',
  );
  return command.action(async (flags: ToolsTopFlags) => {
    const { printToolsTop } = await import('../../tools/top.ts');
    await printToolsTop(flags);
  });
}
