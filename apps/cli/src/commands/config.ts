import { Command } from 'commander';
import { configOption, withExamples, withJsonOption } from '../command-options.ts';
import type { CheckFlags } from '../config/check-config.ts';

/** Defines `signalbox config check|schema`. */
export function configCommand(): Command {
  const command = new Command('config').description(
    'Check a configuration, or print its JSON Schema for editors.',
  );
  withExamples(command, 'signalbox config check signalbox.yaml');
  return command.addCommand(checkCommand()).addCommand(schemaCommand());
}

function checkCommand(): Command {
  const command = new Command('check')
    .description('Read a configuration as every process would, and report all that is wrong with it.')
    .argument('[file]', 'the file; default as with --config')
    .addOption(configOption())
    .option('--insecure', 'allow what up --insecure allows: addresses for other machines without encryption');
  withExamples(withJsonOption(command), 'signalbox config check signalbox.yaml');
  return command.action(async (file: string | undefined, flags: CheckFlags) => {
    const { checkConfig } = await import('../config/check-config.ts');
    await checkConfig(file ?? flags.config, flags);
  });
}

function schemaCommand(): Command {
  const command = new Command('schema').description('Print the JSON Schema of signalbox.yaml.');
  withExamples(withJsonOption(command), 'signalbox config schema > signalbox.schema.json');
  return command.action(async () => {
    const { printConfigSchema } = await import('../config/check-config.ts');
    await printConfigSchema();
  });
}
