import { Command, Option } from 'commander';
import { withConnectionOptions, withExamples, withJsonOption } from '../../command-options.ts';
import type { WorkerConfigFlags } from '../../worker/config.ts';

/** Defines `signalbox worker config`. */
export function configCommand(): Command {
  const command = withConnectionOptions(
    new Command('config')
      .description('Print what makes a client use signalbox as one of its MCP servers, to paste.')
      .option(
        '--client <name>',
        'claude, codex, copilot, opencode, kilo, gemini, qwen, cline, cursor or vscode',
      ),
  )
    .option('--http <url>', 'the client talks to the HTTP face there instead of starting a process')
    .addOption(new Option('--tools <which>', 'as of worker mcp').choices(['all', 'search']))
    .option('--allow', 'print also what lets the client call the tools without asking a person');
  withExamples(
    withJsonOption(command),
    'signalbox worker config --client claude --token-file rosa.token',
    'signalbox worker config --client codex --token-file rosa.token >> ~/.codex/config.toml',
    'signalbox worker config --client gemini --allow --token-file rosa.token',
    'signalbox worker config --client vscode --http http://127.0.0.1:7421/mcp',
  );
  return command.action(async (flags: WorkerConfigFlags) => {
    const { printWorkerConfig } = await import('../../worker/config.ts');
    await printWorkerConfig(flags);
  });
}
