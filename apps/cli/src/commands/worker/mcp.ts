import { Command, Option } from 'commander';
import {
  timeOption,
  withConnectionOptions,
  withExamples,
  withOrchestratorOption,
} from '../../command-options.ts';
import type { WorkerHttpFlags } from '../../worker/http.ts';
import type { WorkerMcpFlags } from '../../worker/mcp.ts';
import { mcpDefaults } from '../../worker/mcp-defaults.ts';

/** Defines `signalbox worker mcp`. */
export function mcpCommand(): Command {
  const command = withOrchestratorOption(
    withConnectionOptions(
      new Command('mcp').description(
        'Be an MCP server on standard input and output, with the tools that the agent’s role may use.',
      ),
    ),
  )
    .addOption(
      timeOption('--wait <time>', 'how long to wait for a broker that is not there yet', mcpDefaults.wait),
    )
    .addOption(timeOption('--timeout <time>', 'longest time for one tool call', mcpDefaults.timeout))
    .addOption(
      new Option(
        '--tools <which>',
        'list all tools, or only two: to search them and to call those that were found',
      )
        .choices(['all', 'search'])
        .default('all'),
    )
    .addOption(
      new Option(
        '--permissions <how>',
        'ask: also be the tool by which the agent’s CLI asks a person: claude -p --permission-prompt-tool mcp__signalbox__permission_prompt',
      )
        .choices(['cli', 'ask'])
        .default('cli'),
    )
    .option(
      '--http <address>',
      'serve any number of agents over HTTP at HOST:PORT instead; each request brings its own token; beyond this machine with --tls-cert and --tls-key, or --insecure',
    )
    .option('--allow-host <name...>', 'with --http: further host names by which clients may reach it')
    .option(
      '--tls-cert <file>',
      'with --http: serve https with this certificate (PEM); read again when it changes',
    )
    .option('--tls-key <file>', 'its private key (PEM), which no other user may read')
    .option(
      '--json',
      'print failures, and where --http listens, as JSON on standard error: standard output is MCP only',
    );
  command.addHelpText(
    'after',
    '\nWithout --http it starts in the folder of its agent, so it reads no signalbox.yaml that lies there or above: only\n--config and SIGNALBOX_CONFIG count.',
  );
  withExamples(
    command,
    'signalbox worker mcp --token-file researcher.token',
    'SIGNALBOX_TOKEN_FILE=researcher.token signalbox worker mcp',
    'signalbox worker mcp --http 127.0.0.1:7421',
    'signalbox worker mcp --http 0.0.0.0:7421 --tls-cert face.pem --tls-key face.key',
  );
  return command.action(async (flags: WorkerMcpFlags & Partial<WorkerHttpFlags>) => {
    const { http } = flags;
    if (http !== undefined) {
      if (flags.permissions === 'ask') command.error("option '--permissions' goes without --http only");
      const { runWorkerHttp } = await import('../../worker/http.ts');
      return runWorkerHttp({ ...flags, http });
    }
    for (const [option, value] of [
      ['--allow-host', flags.allowHost],
      ['--tls-cert', flags.tlsCert],
      ['--tls-key', flags.tlsKey],
    ]) {
      if (value) command.error(`option '${option}' goes with --http only`);
    }
    const { runWorkerMcp } = await import('../../worker/mcp.ts');
    await runWorkerMcp(flags);
  });
}
