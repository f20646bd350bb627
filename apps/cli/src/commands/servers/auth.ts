import { Command, InvalidArgumentError } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ServerAuthFlags } from '../../servers/sign-in.ts';

/** Defines `signalbox servers auth`. */
export function authCommand(): Command {
  const command = withConnectionOptions(
    new Command('auth')
      .description('Sign in to an HTTP server whose auth is of type authorization_code, in a browser.')
      .argument('<server>', 'its name in the configuration'),
  )
    .option('--sign-out', 'forget the sign-in that is stored')
    .option(
      '--port <n>',
      'port of 127.0.0.1 to which the browser comes back; any free one unless given',
      port,
    );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    `
Run it on the machine of the orchestrator: what is stored lies in its data directory, readable by you alone. An
orchestrator that is connected starts the server anew; without one, the sign-in waits for the next start.`,
  );
  withExamples(
    withJsonOption(command),
    'signalbox servers auth docs',
    'signalbox servers auth docs --sign-out',
  );
  return command.action(async (server: string, flags: ServerAuthFlags) => {
    const { authorizeServer } = await import('../../servers/sign-in.ts');
    await authorizeServer(server, flags);
  });
}

function port(text: string): number {
  const value = Number(text);
  if (/^[1-9]\d{0,4}$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError('A port is a whole number from 1 to 65535.');
}
