import { Command, InvalidArgumentError } from 'commander';
import { configOption, withExamples, withJsonOption } from '../command-options.ts';
import type { InstallFlags, ServiceFlags } from '../service/service.ts';

/** Defines `signalbox service install|uninstall`. */
export function serviceCommand(): Command {
  const command = new Command('service').description(
    'Have systemd run signalbox up, now and after every start.',
  );
  withExamples(command, 'signalbox service install --print');
  return command.addCommand(installCommand()).addCommand(uninstallCommand());
}

function installCommand(): Command {
  const command = withScope(
    new Command('install').description('Write a systemd unit for signalbox up, and start it.'),
  )
    .addOption(configOption())
    .option('--data <dir>', 'data directory; default from the config, else /var/lib/signalbox for the system')
    .option('--run-as <user>', 'user of a service of the system, who must exist', 'signalbox')
    .option('--writable <dir...>', 'further directories that MCP servers may write to')
    .option(
      '--credential <name=file...>',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: as a configuration writes it
      'secrets that systemd hands over; a configuration reads them with ${file:PATH}',
      credentials,
    )
    .option('--print', 'print the unit and change nothing')
    .addHelpText('after', remarks);
  withExamples(
    withJsonOption(command),
    'signalbox service install --print',
    'signalbox service install --system --config /etc/signalbox/signalbox.yaml',
  );
  return command.action(async (flags: InstallFlags) => {
    const { installService } = await import('../service/service.ts');
    await installService(flags);
  });
}

function uninstallCommand(): Command {
  const command = withScope(
    new Command('uninstall').description('Stop the service and remove its unit. Its data stays.'),
  );
  withExamples(withJsonOption(command), 'signalbox service uninstall');
  return command.action(async (flags: ServiceFlags) => {
    const { uninstallService } = await import('../service/service.ts');
    await uninstallService(flags);
  });
}

function withScope(command: Command): Command {
  return command
    .option('--user', 'a service of this user; the default unless you are root')
    .option('--system', 'a service of the system; the default for root');
}

function credentials(text: string, before: InstallFlags['credential'] = []): InstallFlags['credential'] {
  const [, name, file] = /^([A-Za-z0-9_.-]{1,64})=(.+)$/.exec(text) ?? [];
  if (name === undefined || file === undefined)
    throw new InvalidArgumentError('Write it as NAME=FILE, as in docs=/etc/signalbox/docs.key.');
  return [...before, { name, file }];
}

const remarks = `
The unit names this Node and this signalbox by their paths: install it again when they move. Variables for the configuration
go into /etc/signalbox/environment, or ~/.config/signalbox/environment for --user (NAME=value, readable by its owner only).
A secret given with --credential NAME=FILE stands at /run/credentials/signalbox.service/NAME, for this service alone.
A unit that signalbox did not write, or that was changed since, is left alone.`;
