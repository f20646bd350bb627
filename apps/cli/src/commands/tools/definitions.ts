import { Command } from 'commander';
import {
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsFlags } from '../../connection/orchestrator-request.ts';
import type { ToolsAcceptFlags } from '../../tools/definitions.ts';

/** Defines `signalbox tools pin`. */
export function toolsPinCommand(): Command {
  const command = withConnectionOptions(
    new Command('pin')
      .description('List the definitions that are pinned, and which of them are withheld. For the operator.')
      .argument('[server]', 'only those of this server'),
  );
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    `
A tool or prompt of a pinned server is offered only as it was seen first, or as it was accepted. STATE says which are
as pinned, which are withheld (changed or new), and which the server does not offer now.`,
  );
  withExamples(withJsonOption(command), 'signalbox tools pin', 'signalbox tools pin files --json');
  return command.action(async (server: string | undefined, flags: ToolsFlags) => {
    const { printPins } = await import('../../tools/definitions.ts');
    await printPins(server, flags);
  });
}

/** Defines `signalbox tools diff`. */
export function toolsDiffCommand(): Command {
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
  withExamples(withJsonOption(command), 'signalbox tools diff', 'signalbox tools diff files read_file');
  return command.action(async (server: string | undefined, name: string | undefined, flags: ToolsFlags) => {
    const { printDiff } = await import('../../tools/definitions.ts');
    await printDiff(server, name, flags);
  });
}

/** Defines `signalbox tools accept`. */
export function toolsAcceptCommand(): Command {
  const command = withConnectionOptions(
    new Command('accept')
      .description('Offer definitions that are withheld, and pin them. For the operator.')
      .argument('<server>', 'the server, as tools diff shows it')
      .argument('[name]', 'only this tool or prompt; all that are withheld unless given'),
  ).requiredOption('--seen <hash>', 'what you have looked at, as tools diff says it');
  withOrchestratorOption(command);
  command.addHelpText(
    'after',
    '\nIf the server has changed anything since, nothing is accepted. Exit code 1: nothing was accepted.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools accept files --seen 2kq0m9XhW4yTnB6cVt1uZA',
    'signalbox tools accept files read_file --seen 2kq0m9XhW4yTnB6cVt1uZA',
  );
  return command.action(async (server: string, name: string | undefined, flags: ToolsAcceptFlags) => {
    const { acceptDefinitions } = await import('../../tools/definitions.ts');
    await acceptDefinitions(server, name, flags);
  });
}
