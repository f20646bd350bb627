import { Command, InvalidArgumentError, Option } from 'commander';
import {
  countOption,
  groupOption,
  keepMcpOption,
  shownToolsOption,
  takeOverOption,
  timeOption,
  tokenRoleOption,
  tokenTtlOption,
  withConnectionOptions,
  withExamples,
} from '../../command-options.ts';
import type { WorkerServeFlags } from '../../worker/serve/serve.ts';

/** The most turns at a time: as many messages does the broker hand out ahead. */
const maxConcurrency = 64;

function concurrencyOption(text: string): number {
  const turns = countOption(text);
  if (turns <= maxConcurrency) return turns;
  throw new InvalidArgumentError(`At most ${maxConcurrency}; more agents with --count take more.`);
}

/** Defines `signalbox worker serve -- <command>`. */
export function serveCommand(): Command {
  const command = withConnectionOptions(
    new Command('serve')
      .description('Start an agent’s program for one turn when mail arrives, and send what it answers.')
      .argument(
        '[command...]',
        'the program’s command line for one turn, after --: claude -p, codex exec, opencode run, gemini -p, copilot -p, qwen -p, an agent that speaks ACP such as gemini --acp, or any program that reads standard input',
      )
      .usage('[options] (-- <command...> | --a2a <url>)'),
    { agent: false },
  )
    .option('--agent <name>', "agent id to serve; a pattern such as 'ci-*' numbers them")
    .option('--cwd <dir>', 'folder that the program works in (default: the one you are in)')
    .addOption(tokenRoleOption())
    .addOption(tokenTtlOption())
    .option('--count <n>', 'serve so many agents: NAME-1, NAME-2, …', countOption, 1)
    .option(
      '--group <group>',
      'take messages of this group in place of the agent’s own inbox: role:ROLE or group:NAME',
      groupOption,
    )
    .addOption(takeOverOption().conflicts('group'))
    .option('--concurrency <n>', 'turns of one agent at a time, 64 at most', concurrencyOption, 1)
    .addOption(
      new Option(
        '--session <which>',
        'continue the CLI’s session of the message’s thread, or always begin a new one',
      )
        .choices(['thread', 'none'])
        .default('thread'),
    )
    .addOption(
      timeOption(
        '--keep <time>',
        'how long the process of an agent that speaks ACP is kept for the next turn of its thread; needs the operator or a minting token',
      ),
    )
    .addOption(
      timeOption('--turn-timeout <time>', 'after which a turn is ended, and its messages come again', '30m'),
    )
    .addOption(
      timeOption(
        '--retry-wait <time>',
        'how long the messages of a failed turn wait; doubled with each try, up to 10m',
        '30s',
      ),
    )
    .addOption(
      timeOption('--note-wait <time>', 'how long notes wait for others before they start a turn', '60s'),
    )
    .addOption(
      timeOption(
        '--stop-timeout <time>',
        'how long turns may go on at the end, and from asking to killing',
        '10s',
      ),
    )
    .addOption(shownToolsOption())
    .addOption(
      new Option(
        '--permissions <how>',
        'before the agent’s CLI uses tools of its own such as a shell: ask a person (claude -p, and agents that speak ACP), deny or allow it (ACP), or leave that to the CLI; by ACP that is deny',
      )
        .choices(['cli', 'ask', 'deny', 'allow'])
        .default('cli'),
    )
    .option('--acp', 'the program speaks the Agent Client Protocol, although it is not known to')
    .option('--check', 'start an agent that speaks ACP, print what it can do, and serve nothing')
    .option('--a2a <url>', 'in place of a program, an agent of another system takes the turns, over A2A')
    .option('--a2a-token-file <file>', 'token for that agent')
    .option(
      '--a2a-allow <origin>',
      'a further origin that its card may name, and that gets the token; may be repeated',
      (origin: string, before: string[]) => [...before, origin],
      [] as string[],
    )
    .option('--mode <id>', 'mode to set in each session of an agent that speaks ACP')
    .option(
      '--no-inject',
      'change nothing but the environment: SIGNALBOX_URL, _AGENT, _TOKEN_FILE and others',
    )
    .addOption(keepMcpOption())
    .option('--dry-run', 'print what a turn would be started with, and start nothing')
    .option('--json', 'print what happens as lines of JSON');
  withExamples(
    command,
    'signalbox worker serve --agent rosa --role researcher -- claude -p',
    'signalbox worker serve --agent scout --role researcher --count 4 -- codex exec',
    'signalbox worker serve --agent rosa --role builder --permissions ask -- gemini --acp',
    'signalbox worker serve --agent rosa --role builder --concurrency 4 --keep 10m -- codex-acp',
    'signalbox worker serve --group role:researcher --agent scout --role researcher --count 4 -- codex exec',
    'signalbox worker serve --token-file rosa.token --session none -- ./answer.sh',
    'signalbox worker serve --agent weather --role outside --a2a https://agents.example.com/weather/ --a2a-token-file weather.token',
  );
  return command.action(async (argv: string[], flags: WorkerServeFlags) => {
    const { serveWorkers } = await import('../../worker/serve/serve.ts');
    process.exitCode = await serveWorkers(argv, flags);
  });
}
