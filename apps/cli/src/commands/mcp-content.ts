import { Command } from 'commander';
import {
  roleOption,
  timeOption,
  withConnectionOptions,
  withExamples,
  withJsonOption,
  withOrchestratorOption,
} from '../command-options.ts';
import type { ToolsFlags } from '../connection/orchestrator-request.ts';
import type { AskMcpContentFlags } from '../mcp-content/ask-mcp-content.ts';
import type { McpContentListFlags } from '../mcp-content/list-mcp-content.ts';

/** Defines `signalbox resources …`: what hosted servers let a role read. */
export function resourcesCommand(): Command {
  const command = new Command('resources').description('See and read the resources of MCP servers.');
  withExamples(command, 'signalbox resources list', 'signalbox resources read file:///srv/docs/a.md');
  return command
    .addCommand(
      listCommand('resources', 'List the resources and templates that your role may use.', async (flags) => {
        const { listResources } = await import('../mcp-content/list-mcp-content.ts');
        await listResources(flags);
      }),
    )
    .addCommand(readCommand())
    .addCommand(explainCommand('resource', 'uri', 'file:///srv/docs/a.md'));
}

/** Defines `signalbox prompts …`: the prompts of hosted servers. */
export function promptsCommand(): Command {
  const command = new Command('prompts').description('See and get the prompts of MCP servers.');
  withExamples(command, 'signalbox prompts list', 'signalbox prompts get mcp_files__summary');
  return command
    .addCommand(
      listCommand('prompts', 'List the prompts that your role may use.', async (flags) => {
        const { listPrompts } = await import('../mcp-content/list-mcp-content.ts');
        await listPrompts(flags);
      }),
    )
    .addCommand(getCommand())
    .addCommand(explainCommand('prompt', 'name', 'mcp_files__summary'));
}

function listCommand(
  what: string,
  description: string,
  list: (flags: McpContentListFlags) => Promise<void>,
): Command {
  const command = withConnectionOptions(new Command('list').description(description)).option(
    '--role <role>',
    `list the ${what} of this role instead, for operators and observers`,
    roleOption,
  );
  withOrchestratorOption(command);
  withExamples(
    withJsonOption(command),
    `signalbox ${what} list --token-file researcher.token`,
    `signalbox ${what} list --role researcher`,
  );
  return command.action(list);
}

function readCommand(): Command {
  const command = withTimeout(
    new Command('read')
      .description('Read one resource and print its text.')
      .argument(
        '<uri>',
        'the resource, as resources list shows it, a URI that a template makes, or that of a large result',
      ),
  );
  withExamples(command, 'signalbox resources read file:///srv/docs/a.md --token-file researcher.token');
  return command.action(async (uri: string, flags: AskMcpContentFlags) => {
    const { readResource } = await import('../mcp-content/ask-mcp-content.ts');
    await readResource(uri, flags);
  });
}

function getCommand(): Command {
  const command = withTimeout(
    new Command('get')
      .description('Get one prompt and print its messages.')
      .argument('<name>', 'the prompt, as prompts list shows it')
      .argument('[arguments]', 'its arguments as one JSON object; - reads them from standard input', '{}'),
  );
  withExamples(command, `signalbox prompts get mcp_files__summary '{"path":"a.md"}'`);
  return command.action(async (name: string, text: string, flags: AskMcpContentFlags) => {
    const { getPrompt } = await import('../mcp-content/ask-mcp-content.ts');
    await getPrompt(name, text, flags);
  });
}

function explainCommand(kind: 'prompt' | 'resource', argument: string, example: string): Command {
  const command = withConnectionOptions(
    new Command('explain')
      .description(`Say whether a role may use a ${kind}, and which rule decides. For the operator.`)
      .argument('<role>', 'the role, as tokens have it')
      .argument(`<${argument}>`, `the ${kind}`),
  );
  withOrchestratorOption(command);
  command.addHelpText('after', '\nExit code 0 for either answer; --json has it under "allowed".');
  withExamples(withJsonOption(command), `signalbox ${kind}s explain researcher ${example}`);
  return command.action(async (role: string, name: string, flags: ToolsFlags) => {
    const { explainMcpContent } = await import('../mcp-content/explain-mcp-content.ts');
    await explainMcpContent(kind, { role, name }, flags);
  });
}

function withTimeout(command: Command): Command {
  withConnectionOptions(command).addOption(
    timeOption('--timeout <time>', 'give up after this time, as in 30s', '60s'),
  );
  return withJsonOption(withOrchestratorOption(command));
}
