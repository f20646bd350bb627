import { Command } from 'commander';
import {
  addressOption,
  countOption,
  seqArguments,
  seqOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { DeadChangeFlags, DeadListFlags } from '../dead/dead.ts';

/** Defines `signalbox dead list|show|retry|drop`. */
export function deadCommand(): Command {
  const command = new Command('dead').description(
    'See messages that were given up, put them back, or drop them. For the operator.',
  );
  withExamples(command, 'signalbox dead list');
  for (const child of [listCommand(), showCommand(), retryCommand(), dropCommand()]) {
    command.addCommand(child);
  }
  return command;
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List the messages that were given up, and why.'),
  )
    .option('--inbox <agent>', 'only those of this inbox', addressOption)
    .option('--after <seq>', 'only those after this sequence number', seqOption)
    .option('--limit <n>', 'show at most this many', countOption, 100);
  withExamples(withJsonOption(command), 'signalbox dead list --inbox writer-1');
  return command.action(async (flags: DeadListFlags) => {
    const { listDead } = await import('../dead/dead.ts');
    await listDead(flags);
  });
}

function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show')
      .description('Show one of them with its body.')
      .argument('<seq>', 'its sequence number, as dead list shows it', seqOption),
  );
  withExamples(withJsonOption(command), 'signalbox dead show 42');
  return command.action(async (seq: number, flags: DeadListFlags) => {
    const { showDead } = await import('../dead/dead.ts');
    await showDead(seq, flags);
  });
}

function retryCommand(): Command {
  const command = disposeCommand(
    'retry',
    'Put messages back into their inboxes, with their tries at zero and a new lifetime.',
  ).addHelpText(
    'after',
    '\nThey live for 7 days from now, or as long as at first if that was longer: also an ask, whose asker does not wait any more. A tool\ncall gets its own time again. The command asks no question: --all puts back every message of every inbox at once. See them with dead list first.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox dead retry 42 43',
    'signalbox dead retry --inbox writer-1',
  );
  return command.action(async (seqs: number[], flags: DeadChangeFlags) => {
    const { retryDead } = await import('../dead/dead.ts');
    await retryDead(seqs, flags);
  });
}

function dropCommand(): Command {
  const command = disposeCommand('drop', 'Drop messages for good.').addHelpText(
    'after',
    '\nThe command asks no question, and dropped messages cannot be restored: see them with dead list or dead show first.',
  );
  withExamples(withJsonOption(command), 'signalbox dead drop 42 43', 'signalbox dead drop --all');
  return command.action(async (seqs: number[], flags: DeadChangeFlags) => {
    const { dropDead } = await import('../dead/dead.ts');
    await dropDead(seqs, flags);
  });
}

function disposeCommand(name: string, description: string): Command {
  return withConnectionOptions(
    new Command(name)
      .description(description)
      .argument('[seq...]', 'their sequence numbers, as dead list shows them', seqArguments),
  )
    .option('--inbox <agent>', 'instead of numbers: all of this inbox', addressOption)
    .option('--all', 'instead of numbers: all of them');
}
