import { Command } from 'commander';
import type { ClockFlags } from '../clock/clock.ts';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';

/** Defines `signalbox clock show|accept`. */
export function clockCommand(): Command {
  const command = new Command('clock').description(
    "See whether the broker's clock leapt forward, and make the broker accept it. For the operator.",
  );
  withExamples(command, 'signalbox clock show');
  return command.addCommand(showCommand()).addCommand(acceptCommand());
}

function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show').description(
      'Show whether the clock leapt, and which messages are held back because of that.',
    ),
  ).addHelpText('after', legend);
  withExamples(withJsonOption(command), 'signalbox clock show');
  return command.action(async (flags: ClockFlags) => {
    const { showClock } = await import('../clock/clock.ts');
    await showClock(flags);
  });
}

function acceptCommand(): Command {
  const command = withConnectionOptions(
    new Command('accept').description(
      'Make the broker accept its clock now: messages that are held back expire.',
    ),
  ).addHelpText('after', legend);
  withExamples(withJsonOption(command), 'signalbox clock accept');
  return command.action(async (flags: ClockFlags) => {
    const { acceptClock } = await import('../clock/clock.ts');
    await acceptClock(flags);
  });
}

const legend = `
If the clock gains more than a minute at once, it was set, or the machine slept, or no broker ran. For five minutes nothing
expires because of that, and requests whose deadlines lie in the leap are not handed out. Then the broker trusts its clock.`;
