import { Command } from 'commander';
import {
  agentOption,
  countOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { InboxFlags, InboxShowFlags } from '../messages/inbox.ts';

/** Defines `signalbox inbox` with `signalbox inbox show`. */
export function inboxCommand(): Command {
  const command = withConnectionOptions(
    new Command('inbox').description(
      'List the messages that wait for you, without taking them. With --take they are printed whole and leave the inbox.',
    ),
  )
    .option(
      '--take',
      'print the messages whole and acknowledge each once it is written; takes the inbox over from a worker that reads it',
    )
    .option('--limit <n>', 'show or take at most this many', countOption, 50)
    .addHelpText(
      'after',
      `
A message that could not be written, as when the reader of a pipe has gone, stays in the inbox. With --json all messages are one
object, acknowledged after it is written whole; one run takes at most 64 MiB of them.`,
    );
  withExamples(
    withJsonOption(command),
    'signalbox inbox --token-file researcher.token',
    'signalbox inbox show V1StGXR8Z5jdHi6BmyT --token-file researcher.token',
    'signalbox inbox --take --token-file researcher.token > mail.txt',
  );
  command.action(async (flags: InboxFlags) => {
    const { inbox } = await import('../messages/inbox.ts');
    await inbox(flags);
  });
  command.addCommand(showCommand());
  return command;
}

function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show')
      .description('Print one message that waits for you whole, without taking it.')
      .argument('<id>', 'its id, as inbox shows it'),
  ).option('--from <agent>', 'the agent that sent it, if several messages have this id', agentOption);
  withExamples(
    withJsonOption(command),
    'signalbox inbox show V1StGXR8Z5jdHi6BmyT --token-file researcher.token',
  );
  return command.action(async (id: string, flags: InboxShowFlags) => {
    const { showMessage } = await import('../messages/inbox.ts');
    // The command above has the same options, and takes them from the line first.
    await showMessage(id, { ...flags, ...command.optsWithGlobals<InboxShowFlags>() });
  });
}
