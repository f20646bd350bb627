import { Command } from 'commander';
import { timeOption, withConnectionOptions, withExamples } from '../../command-options.ts';
import type { WorkerMcpFlags } from '../../worker/worker-mcp.ts';

/** `signalbox worker mcp`. */
export function mcpCommand(): Command {
  const command = withConnectionOptions(
    new Command('mcp').description(
      'Be an MCP server on standard input and output, with the tools that the agent’s role may use.',
    ),
  )
    .option(
      '--orchestrator <name>',
      'agent id of the orchestrator; default from the config, else orchestrator',
    )
    .addOption(timeOption('--wait <time>', 'how long to wait for a broker that is not there yet', '20s'))
    .addOption(timeOption('--timeout <time>', 'longest time for one tool call', '10m'))
    .option('--json', 'print a failure as {"error":…}, on standard error: standard output is MCP only');
  withExamples(
    command,
    'signalbox worker mcp --token-file researcher.token',
    'SIGNALBOX_TOKEN_FILE=researcher.token signalbox worker mcp',
  );
  return command.action(async (flags: WorkerMcpFlags) => {
    const { runWorkerMcp } = await import('../../worker/worker-mcp.ts');
    await runWorkerMcp(flags);
  });
}
