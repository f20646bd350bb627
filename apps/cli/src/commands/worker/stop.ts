import { Command, Option } from 'commander';
import { agentOption, withConnectionOptions, withExamples, withJsonOption } from '../../command-options.ts';
import type { WorkerStopFlags } from '../../worker/stop.ts';

/** Defines `signalbox worker stop`. */
export function stopCommand(): Command {
  const command = withConnectionOptions(
    new Command('stop')
      .description('Stop a running turn of an agent that worker serve serves. For the operator.')
      .argument('<agent>', 'the agent whose turn is stopped', agentOption),
  )
    .addOption(
      new Option(
        '--message <id>',
        'the turn that works on this message; needed if several turns run',
      ).conflicts('thread'),
    )
    .option('--thread <id>', 'the turn of this thread')
    .addHelpText(
      'after',
      '\nIts messages become dead letters with the reason "stopped by NAME", and are not tried again. Its program and the\nprocesses that it started are ended; its effects until then stay. Exit code 1: no such turn runs.',
    );
  withExamples(
    withJsonOption(command),
    'signalbox worker stop rosa',
    'signalbox worker stop rosa --thread release',
  );
  return command.action(async (agent: string, flags: WorkerStopFlags) => {
    const { stopTurn } = await import('../../worker/stop.ts');
    await stopTurn(agent, flags);
  });
}
