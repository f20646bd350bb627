import { Command } from 'commander';
import {
  takeOverOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../../command-options.ts';
import type { EchoFlags } from '../../worker/echo.ts';

/** Defines `signalbox worker echo`. */
export function echoCommand(): Command {
  const command = withConnectionOptions(
    new Command('echo').description(
      'Be a worker without a model, to try things with: it answers every ask and task with what it was sent, and prints all it gets.',
    ),
  )
    .addOption(timeOption('--delay <time>', 'how long each answer takes; at once unless given'))
    .addOption(takeOverOption());
  withExamples(
    withJsonOption(command),
    'signalbox worker echo --token-file writer.token',
    'signalbox worker echo --delay 5s --token-file writer.token',
  );
  return command.action(async (flags: EchoFlags) => {
    const { runEcho } = await import('../../worker/echo.ts');
    await runEcho(flags);
  });
}
