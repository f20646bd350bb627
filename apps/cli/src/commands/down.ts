import { Command } from 'commander';
import { configOption, dataOption, withExamples, withJsonOption } from '../command-options.ts';
import type { DownFlags } from '../daemons/down.ts';

/** Defines `signalbox down`. */
export function downCommand(): Command {
  const command = new Command('down')
    .description('End signalbox up in order, and wait until its processes have ended.')
    .addOption(configOption())
    .addOption(dataOption().helpGroup('Options:'))
    .addHelpText(
      'after',
      '\nIt takes a minute at most. Exit codes: 0 all has ended, or nothing ran; 75 something still runs, which it names.',
    );
  withExamples(withJsonOption(command), 'signalbox down', 'signalbox down --data ./state');
  return command.action(async (flags: DownFlags) => {
    const { down } = await import('../daemons/down.ts');
    await down(flags);
  });
}
