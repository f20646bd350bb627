import { Command } from 'commander';
import { countOption, withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { InboxFlags } from '../messages/inbox.ts';

/** Defines `signalbox inbox`. */
export function inboxCommand(): Command {
  const command = withConnectionOptions(
    new Command('inbox').description(
      'Show the messages that wait for you, without claiming them. With --take they are claimed and acknowledged.',
    ),
  )
    .option(
      '--take',
      'claim and acknowledge the messages that are shown; takes the inbox over from a worker that reads it',
    )
    .option('--limit <n>', 'show at most this many', countOption, 50);
  withExamples(
    withJsonOption(command),
    'signalbox inbox --token-file researcher.token',
    'signalbox inbox --take --limit 1 --token-file researcher.token --json',
  );
  return command.action(async (flags: InboxFlags) => {
    const { inbox } = await import('../messages/inbox.ts');
    await inbox(flags);
  });
}
