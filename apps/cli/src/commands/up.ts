import { Command } from 'commander';
import { configOption, reloadHelp, withExamples, withJsonOption } from '../command-options.ts';
import type { UpFlags } from '../daemons/up.ts';

/** Defines `signalbox up`. */
export function upCommand(): Command {
  const command = new Command('up')
    .description(
      'Start the broker, the orchestrator and a face for the agents of this machine, and "a2a serve" if the configuration has a section a2a; keep them running.',
    )
    .addOption(configOption())
    .option('--data <dir>', 'data directory; default from the config, else $XDG_STATE_HOME/signalbox')
    .option(
      '--listen <address>',
      'HOST:PORT of the broker, beside its Unix socket; port 0 takes any free one',
    )
    .option('--accept-loss', 'start on a data directory that has lost messages or tokens, with what is left')
    .option('--allow-exposed', 'start although a hosted server can reach the data directory or a token file')
    .option(
      '--detach',
      'return when all is ready, and leave it running; its log is up.log in the data directory',
    )
    .option('--no-face', 'start no face: each "worker mcp" on this machine serves its tools itself')
    .option('--insecure', 'allow an address that other machines can reach, without encryption');
  command.addHelpText('after', reloadHelp);
  withExamples(
    withJsonOption(command),
    'signalbox up',
    'signalbox up --detach',
    'signalbox up --config fleet/signalbox.yaml',
  );
  return command.action(async (flags: UpFlags) => {
    const { up } = await import('../daemons/up.ts');
    await up(flags);
  });
}
