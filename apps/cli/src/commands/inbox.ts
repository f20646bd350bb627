import { Command } from 'commander';
import {
  addressOption,
  agentOption,
  countOption,
  takeOverOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { InboxFlags, InboxShowFlags } from '../messages/inbox.ts';
import type { CancelFlags } from '../messages/scheduled.ts';

const ofText = 'for operators: what waits for this agent, its sub-inbox agent#sub or this group instead';

/** Defines `signalbox inbox` with `signalbox inbox show` and `signalbox inbox cancel`. */
export function inboxCommand(): Command {
  const command = withConnectionOptions(
    new Command('inbox')
      .enablePositionalOptions()
      .description(
        'List the messages that wait for you, without taking them. With --take they are printed whole and leave the inbox.',
      ),
  )
    .option('--take', 'print the messages whole and acknowledge each once it is written')
    .addOption(takeOverOption())
    .option('--of <agent>', ofText, addressOption)
    .option('--scheduled', 'list what you sent and is not due instead; for operators what anybody sent')
    .option('--limit <n>', 'show or take at most this many', countOption, 50)
    .option('--wait', 'wait for new mail without taking it, print one line and exit with code 2')
    .addOption(timeOption('--timeout <time>', 'with --wait: exit with code 0 if none has come by then'))
    .option('--mark <file>', 'with --wait: remember in this file which mail was told, and tell it once')
    .addHelpText(
      'after',
      `
A message that could not be written, as when the reader of a pipe has gone, stays in the inbox. With --json all messages are one
object, acknowledged after it is written whole; one run takes at most 64 MiB of them.

--wait counts messages that no reader has in hand. Without --mark, those that wait already end it at once. A command that
cannot be done exits with code 2 as well, says so on standard error and prints nothing else.`,
    );
  withExamples(
    withJsonOption(command),
    'signalbox inbox --token-file researcher.token',
    'signalbox inbox show V1StGXR8Z5jdHi6BmyT --token-file researcher.token',
    'signalbox inbox --of researcher',
    'signalbox inbox --scheduled --token-file researcher.token',
    'signalbox inbox --take --token-file researcher.token > mail.txt',
    'signalbox inbox --wait --timeout 10m --mark researcher.mark --token-file researcher.token',
  );
  command.action(async (flags: InboxFlags) => {
    const { inbox } = await import('../messages/inbox.ts');
    process.exitCode = await inbox(flags);
  });
  command.addCommand(showCommand()).addCommand(cancelCommand());
  return command;
}

function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show')
      .description('Print one message that waits for you whole, without taking it.')
      .argument('<id>', 'its id, as inbox shows it'),
  )
    .option('--from <agent>', 'the agent that sent it, if several messages have this id', agentOption)
    .option('--of <agent>', ofText, addressOption);
  withExamples(
    withJsonOption(command),
    'signalbox inbox show V1StGXR8Z5jdHi6BmyT --token-file researcher.token',
  );
  return command.action(async (id: string, flags: InboxShowFlags) => {
    const { showMessage } = await import('../messages/inbox.ts');
    await showMessage(id, flags);
  });
}

function cancelCommand(): Command {
  const command = withConnectionOptions(
    new Command('cancel')
      .description('Cancel a message that you sent and that is not due.')
      .argument(
        '<to>',
        'its recipient, as inbox --scheduled shows it, or the group whose members get copies',
        addressOption,
      )
      .argument('<id>', 'its id'),
  ).option('--from <agent>', 'for operators: the agent that sent it', agentOption);
  withExamples(
    withJsonOption(command),
    'signalbox inbox cancel writer-1 V1StGXR8Z5jdHi6BmyT --token-file researcher.token',
  );
  return command.action(async (to: string, id: string, flags: CancelFlags) => {
    const { cancelScheduled } = await import('../messages/scheduled.ts');
    await cancelScheduled(to, id, flags);
  });
}
