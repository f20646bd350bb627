import { Command } from 'commander';
import type { A2aServeFlags } from '../a2a/serve.ts';
import {
  caFileOption,
  configOption,
  connectionHeading,
  dataOption,
  urlOption,
  withExamples,
  withJsonOption,
} from '../command-options.ts';

/** Defines `signalbox a2a`. */
export function a2aCommand(): Command {
  const serve = new Command('serve')
    .description('Serve the agents under "a2a" of the configuration to clients of the Agent2Agent protocol.')
    .option('--listen <address>', 'HOST:PORT to listen on, in place of a2a.listen')
    .addOption(urlOption())
    .option(
      '--insecure',
      'allow ws:// to another machine, and an address that other machines can reach, without encryption',
    )
    .addOption(caFileOption())
    .addOption(configOption().helpGroup(connectionHeading))
    .addOption(dataOption());
  serve.addHelpText(
    'after',
    '\n"signalbox up" runs it if signalbox.yaml has a section "a2a". Each request brings a token of a role in a2a.roles.\nTasks are kept in a2a.db in the data directory.',
  );
  withExamples(
    withJsonOption(serve),
    'signalbox a2a serve',
    'signalbox a2a serve --listen 127.0.0.1:8080 --url wss://broker.example:7420',
  );
  serve.action(async (flags: A2aServeFlags) => {
    const { a2aServe } = await import('../a2a/serve.ts');
    await a2aServe(flags);
  });
  return new Command('a2a')
    .description('Agents for clients of other systems, over the Agent2Agent protocol (A2A).')
    .addCommand(serve);
}
