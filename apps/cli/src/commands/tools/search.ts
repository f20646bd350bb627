import { Command } from 'commander';
import {
  countOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { ToolsSearchFlags } from '../../tools/search.ts';

/** Defines `signalbox tools search`. */
export function toolsSearchCommand(): Command {
  const command = withConnectionOptions(
    new Command('search')
      .description('Find tools that your role may use by what they do, best first.')
      .argument('<query...>', 'words of their names and descriptions'),
  ).option('--limit <n>', 'show at most this many, up to 50', countOption, 10);
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools search read a file --token-file researcher.token',
    'signalbox tools search "read a file" --json',
  );
  return command.action(async (words: string[], flags: ToolsSearchFlags) => {
    const { searchTools } = await import('../../tools/search.ts');
    await searchTools(words.join(' '), flags);
  });
}
