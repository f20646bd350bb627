import { Command } from 'commander';
import {
  addressOption,
  threadOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { AskFlags } from '../messages/ask.ts';

/** Defines `signalbox ask`. */
export function askCommand(): Command {
  const command = withConnectionOptions(
    new Command('ask')
      .description('Ask an agent and wait for its answer.')
      .argument(
        '<to>',
        'agent id, agent#sub, or a group: role:ROLE or group:NAME, one of whose members answers',
        addressOption,
      )
      .argument('<text>', 'the question; - reads it from standard input'),
  )
    .option(
      '--thread <thread>',
      'the thread that it belongs to, and the answer; default: a new one',
      threadOption,
    )
    .addOption(timeOption('--timeout <time>', 'withdraw the question after this time', '60s'));
  withExamples(
    withJsonOption(command),
    "signalbox ask writer-1 'how far are you?' --token-file researcher.token",
  );
  return command.action(async (to: string, text: string, flags: AskFlags) => {
    const { ask } = await import('../messages/ask.ts');
    await ask(to, text, flags);
  });
}
