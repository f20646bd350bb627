import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';
import type { AcceptFlags } from '../../servers/definitions.ts';

/** Defines `signalbox servers pins`. */
export function pinsCommand(): Command {
  const command = withConnectionOptions(
    new Command('pins')
      .description('List the definitions that are pinned, and which of them are withheld. For the operator.')
      .argument('[server]', 'only those of this server'),
  );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    `
A tool or prompt of a pinned server is shown only as it was seen first, or as it was accepted. STATE says which are
as pinned, which are withheld (changed or new), and which the server does not list now.`,
  );
  withExamples(withJsonOption(command), 'signalbox servers pins', 'signalbox servers pins files --json');
  return command.action(async (server: string | undefined, flags: ToolsFlags) => {
    const { printPins } = await import('../../servers/definitions.ts');
    await printPins(server, flags);
  });
}

/** Defines `signalbox servers diff`. */
export function diffCommand(): Command {
  const command = withConnectionOptions(
    new Command('diff')
      .description('Show how definitions that are withheld differ from what is pinned. For the operator.')
      .argument('[server]', 'only those of this server')
      .argument('[name]', 'only this tool or prompt'),
  );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nCharacters that nobody sees are written as escapes, such as \\u200b. Exit code 1: something is withheld.',
  );
  withExamples(withJsonOption(command), 'signalbox servers diff', 'signalbox servers diff files read_file');
  return command.action(async (server: string | undefined, name: string | undefined, flags: ToolsFlags) => {
    const { printDiff } = await import('../../servers/definitions.ts');
    await printDiff(server, name, flags);
  });
}

/** Defines `signalbox servers accept`. */
export function acceptCommand(): Command {
  const command = withConnectionOptions(
    new Command('accept')
      .description('Show definitions that are withheld to agents, and pin them. For the operator.')
      .argument('<server>', 'the server, as servers diff shows it')
      .argument('[name]', 'only this tool or prompt; all that are withheld unless given'),
  ).requiredOption('--seen <hash>', 'what you have looked at, as servers diff says it');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nIf the server has changed anything since, nothing is accepted. Exit code 1: nothing was accepted.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox servers accept files --seen 2kq0m9XhW4yTnB6cVt1uZA',
    'signalbox servers accept files read_file --seen 2kq0m9XhW4yTnB6cVt1uZA',
  );
  return command.action(async (server: string, name: string | undefined, flags: AcceptFlags) => {
    const { acceptDefinitions } = await import('../../servers/definitions.ts');
    await acceptDefinitions(server, name, flags);
  });
}
