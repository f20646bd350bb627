import { Command } from 'commander';
import {
  countOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
} from '../command-options.ts';
import type { ToolsCallFlags } from '../tools/call.ts';
import type { ToolsCallsFlags } from '../tools/calls.ts';
import type { ToolsListFlags } from '../tools/list.ts';
import type { ToolsResultFlags } from '../tools/result.ts';

/** `signalbox tools list|call|result|calls`. */
export function toolsCommand(): Command {
  const command = new Command('tools').description('See and call the tools that the orchestrator serves.');
  withExamples(command, 'signalbox tools list --data ./state');
  for (const child of [listCommand(), callCommand(), resultCommand(), callsCommand()]) {
    command.addCommand(child);
  }
  return command;
}

function listCommand(): Command {
  const command = withConnectionOptions(
    new Command('list').description('List the tools that your role may use.'),
  );
  orchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools list --token-file researcher.token',
    'signalbox tools list --config signalbox.yaml --json',
  );
  return command.action(async (flags: ToolsListFlags) => {
    const { listTools } = await import('../tools/list.ts');
    await listTools(flags);
  });
}

function callCommand(): Command {
  const command = withConnectionOptions(
    new Command('call')
      .description('Call one tool and print what it answers.')
      .argument('<name>', 'the tool, as tools list shows it')
      .argument('[arguments]', 'its arguments as one JSON object; - reads them from standard input', '{}'),
  ).addOption(timeOption('--timeout <time>', 'give up after this time, as in 30s', '60s'));
  orchestratorOption(command);
  withExamples(
    withJsonOption(command),
    `signalbox tools call mcp_everything__echo '{"message":"hello"}' --token-file researcher.token`,
  );
  return command.action(async (name: string, text: string, flags: ToolsCallFlags) => {
    const { callTool } = await import('../tools/call.ts');
    await callTool(name, text, flags);
  });
}

function resultCommand(): Command {
  const command = withConnectionOptions(
    new Command('result')
      .description('Ask what became of a call of your own: queued, running, or finished with its reply.')
      .argument('<request-id>', 'id of the request, as a failed tools call says it'),
  );
  orchestratorOption(command);
  command.addHelpText(
    'after',
    '\nA call is found by who made it: use the token it was made with. Exit codes: 75 while it waits or runs, 1 if it is\nunknown, else that of the call itself.',
  );
  withExamples(
    withJsonOption(command),
    'signalbox tools result 0k3v9x2m1a-V1StGXR8Z5jdH --token-file researcher.token',
  );
  return command.action(async (requestId: string, flags: ToolsResultFlags) => {
    const { callResult } = await import('../tools/result.ts');
    await callResult(requestId, flags);
  });
}

function callsCommand(): Command {
  const command = withConnectionOptions(
    new Command('calls').description(
      'List tool calls of all agents: those that wait, run, or ended. For the operator.',
    ),
  )
    .option('--running', 'only those that wait or run now')
    .addOption(timeOption('--since <time>', 'only those that came in within this time, as in 1h'))
    .option('--limit <n>', 'show at most this many, up to 1000', countOption, 100);
  orchestratorOption(command);
  withExamples(
    withJsonOption(command),
    'signalbox tools calls --running --config signalbox.yaml',
    'signalbox tools calls --since 1h --config signalbox.yaml --json',
  );
  return command.action(async (flags: ToolsCallsFlags) => {
    const { listCalls } = await import('../tools/calls.ts');
    await listCalls(flags);
  });
}

function orchestratorOption(command: Command): void {
  command.option(
    '--orchestrator <name>',
    'agent id of the orchestrator; default from the config, else orchestrator',
  );
}
