import { Command } from 'commander';
import { withExamples, withJsonOption } from '../command-options.ts';
import type { InitFlags } from '../init/init.ts';

/** Defines `signalbox init`. */
export function initCommand(): Command {
  const command = new Command('init')
    .description('Write a first signalbox.yaml, with the MCP servers that other clients have already.')
    .option('--yes', 'use all files that are found, and ask nothing')
    .option('--from <file...>', 'use these files of clients only, and ask nothing')
    .option('--no-import', 'use no file of another client')
    .addHelpText('after', remarks);
  withExamples(withJsonOption(command), 'signalbox init', 'signalbox init --from .mcp.json');
  return command.action(async (flags: InitFlags) => {
    const { init } = await import('../init/init.ts');
    await init(flags);
  });
}

const remarks = `
The file is written here. In a git repository it is written to ~/.config/signalbox, as agents work in the repository.

It looks for the files of Claude Code, Codex, Copilot, VS Code, Cursor, Gemini CLI, Qwen Code, opencode, Kilo, Cline and
Amp, here and in the home directory, and asks which to use. The new file names them under mcpConfig and copies nothing
out of them. A configuration that exists is never replaced. .gitignore gets the rule *.token.`;
