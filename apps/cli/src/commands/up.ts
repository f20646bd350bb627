import { Command } from 'commander';
import {
  acceptLossOption,
  allowExposedOption,
  configOption,
  insecureListenOption,
  ownDataOption,
  reloadHelp,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { UpFlags } from '../daemons/up.ts';

/** Defines `signalbox up`. */
export function upCommand(): Command {
  const command = new Command('up')
    .description(
      'Start the broker, the orchestrator and a face for the agents of this machine, and "a2a serve" if the configuration has a section a2a; keep them running.',
    )
    .addOption(configOption())
    .addOption(ownDataOption())
    .option(
      '--listen <address>',
      'HOST:PORT of the broker, beside its Unix socket; port 0 takes any free one',
    )
    .addOption(acceptLossOption())
    .addOption(allowExposedOption())
    .option(
      '--detach',
      'return when all is ready, and leave it running; its log is up.log in the data directory',
    )
    .option('--no-face', 'start no face: each "worker mcp" on this machine serves its tools itself')
    .addOption(insecureListenOption());
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
