import { Command, Option } from 'commander';
import {
  agentOption,
  countOption,
  keepMcpOption,
  permissionsOption,
  shownToolsOption,
  timeOption,
  tokenRoleOption,
  tokenTtlOption,
  withConnectionOptions,
  withExamples,
} from '../../command-options.ts';
import type { WorkerRunFlags } from '../../worker/run/flags.ts';

/** Defines `signalbox worker run -- <command>`. */
export function runCommand(): Command {
  const command = withConnectionOptions(
    new Command('run')
      .description('Start an agent with its tools and its mailbox, and look after it until it ends.')
      .argument('<command...>', 'the agent’s command line, after --')
      .usage('[options] -- <command...>'),
    { agent: false },
  )
    .option('--agent <name>', "agent id to run as; a pattern such as 'ci-*' numbers them")
    .option('--cwd <dir>', 'folder that the agent works in (default: the one you are in)')
    .addOption(tokenRoleOption())
    .addOption(tokenTtlOption())
    .option(
      '--parent <agent>',
      'who gets a message when an agent ends (default SIGNALBOX_AGENT)',
      agentOption,
    )
    .option('--count <n>', 'run so many agents: NAME-1, NAME-2, …', countOption, 1)
    .addOption(
      new Option('--restart <when>', 'start an agent that ended again')
        .choices(['never', 'on-failure'])
        .default('never'),
    )
    .addOption(timeOption('--restart-delay <time>', 'wait before the first restart; doubles up to 30s', '1s'))
    .addOption(timeOption('--stop-timeout <time>', 'from asking an agent to end to killing it', '10s'))
    .addOption(timeOption('--ready-timeout <time>', 'after which missing tools are worth a warning', '30s'))
    .addOption(shownToolsOption())
    .addOption(permissionsOption())
    .option('--no-inject', 'change nothing but the environment: SIGNALBOX_URL, _AGENT and _TOKEN_FILE')
    .option(
      '--no-hooks',
      'add no hooks to claude, copilot, gemini and qwen, which tell the agent of new mail between turns',
    )
    .option('--wake', 'begin a turn of an idle agent when mail comes, once for each message (claude)')
    .addOption(keepMcpOption())
    .option(
      '--approve-workspace-servers',
      'let cursor-agent start every MCP server that the project’s .cursor/mcp.json names, unasked',
    )
    .option('--dry-run', 'print what the agent would be started with, and start nothing')
    .option(
      '--json',
      'print what happens as lines of JSON, on standard error: standard output is the agent’s',
    );
  withExamples(
    command,
    'signalbox worker run --agent rosa --role researcher -- claude',
    'signalbox worker run --agent rosa --role researcher --wake -- claude',
    "signalbox worker run --agent rosa --role builder --permissions ask -- claude -p 'fix the build'",
    "signalbox worker run --agent 'ci-*' --count 3 --token-file ci.token --restart on-failure -- codex exec 'fix the build'",
    'signalbox worker run --agent rosa --role researcher --cwd ./project --dry-run -- gemini',
  );
  return command.action(async (argv: string[], flags: WorkerRunFlags) => {
    const { runWorkers } = await import('../../worker/run/run.ts');
    process.exitCode = await runWorkers(argv, flags);
  });
}
