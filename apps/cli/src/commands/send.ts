import { Command } from 'commander';
import {
  addressOption,
  agentOption,
  instantOption,
  threadOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { SendFlags } from '../messages/send.ts';

/** Defines `signalbox send`. */
export function sendCommand(): Command {
  const command = withConnectionOptions(
    new Command('send')
      .description(
        'Store a message in an agent’s inbox. When the command succeeds, the message is stored and will be delivered.',
      )
      .argument(
        '<to>',
        'agent id, agent#sub, or a group: role:ROLE or group:NAME, one of whose members gets it',
        addressOption,
      )
      .argument('<text>', 'the message; - reads it from standard input'),
  )
    .option('--kind <kind>', 'kind of message: note, task, ask, or your own word; default note')
    .option('--reply-to <id>', 'answer the ask or task with this id')
    .option(
      '--of <agent>',
      'with --reply-to, for operators: the operator who was asked, as inbox --of shows it; default: you',
      agentOption,
    )
    .option('--all', 'to a group: each member but you gets a copy, or nobody does')
    .option('--partial', 'with --all: leave out members who can’t be given it, and list them')
    .option(
      '--key <key>',
      'to a group: messages with the same key are handed out in their order, one at a time',
    )
    .option('--thread <thread>', 'the thread of the message and its reply; default: a new one', threadOption)
    .option('--id <id>', 'id of your own; sending it twice stores one message')
    .addOption(timeOption('--ttl <time>', 'drop it if nobody has read it by then; default 7d'))
    .addOption(timeOption('--in <time>', 'store it at once, and hand it out after this time, as in 90m'))
    .option(
      '--at <instant>',
      'store it at once, and hand it out at this time, as in 2026-12-01T09:00 (in this machine’s zone) or 2026-12-01T09:00Z',
      instantOption,
    );
  withExamples(
    withJsonOption(command),
    "signalbox send writer-1 'the sources are ready' --token-file researcher.token",
    "signalbox send writer-1 'write the summary' --kind task --in 2h --token-file researcher.token",
    "signalbox send role:writer 'stop for today' --all --token-file researcher.token",
  );
  return command.action(async (to: string, text: string, flags: SendFlags) => {
    const { send } = await import('../messages/send.ts');
    await send(to, text, flags);
  });
}
