import { Command } from 'commander';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { SchedulesFlags } from '../schedules/schedules.ts';

/** Defines `signalbox schedules list`. */
export function schedulesCommand(): Command {
  const command = new Command('schedules').description(
    'List the messages that the broker sends at certain times. For operators and observers.',
  );
  withExamples(command, 'signalbox schedules list');
  return command.addCommand(listCommand());
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description(
      'List the schedules of the broker, with the next and the last run of each.',
    ),
  );
  withExamples(withJsonOption(command), 'signalbox schedules list');
  return command.action(async (flags: SchedulesFlags) => {
    const { listSchedules } = await import('../schedules/schedules.ts');
    await listSchedules(flags);
  });
}
