import { Command } from 'commander';
import { withConnectionOptions, withExamples, withJsonOption } from '../command-options.ts';
import type { HooksFlags } from '../hooks/hooks.ts';

/** Defines `signalbox hooks list|show`. */
export function hooksCommand(): Command {
  const command = new Command('hooks').description(
    'List webhooks with what came in, and show how to set one up. For operators and observers.',
  );
  withExamples(command, 'signalbox hooks list');
  return command.addCommand(listCommand()).addCommand(showCommand());
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description(
      'List the webhooks of the broker and what came in by each since it started.',
    ),
  );
  withExamples(withJsonOption(command), 'signalbox hooks list');
  return command.action(async (flags: HooksFlags) => {
    const { listHooks } = await import('../hooks/hooks.ts');
    await listHooks(flags);
  });
}

function showCommand(): Command {
  const command = withConnectionOptions(
    new Command('show')
      .description('Show the addresses of a webhook, and what to enter at its sender.')
      .argument('<name>', 'the name under hooks in the configuration'),
  );
  withExamples(withJsonOption(command), 'signalbox hooks show github');
  return command.action(async (name: string, flags: HooksFlags) => {
    const { showHook } = await import('../hooks/hooks.ts');
    await showHook(name, flags);
  });
}
