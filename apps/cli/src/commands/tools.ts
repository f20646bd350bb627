import { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { toolsAuthCommand } from './tools/auth.ts';
import { toolsCallCommand } from './tools/call.ts';
import { toolsCallsCommand } from './tools/calls.ts';
import { toolsCancelCommand } from './tools/cancel.ts';
import { toolsAcceptCommand, toolsDiffCommand, toolsPinCommand } from './tools/definitions.ts';
import { toolsDiscoverCommand } from './tools/discover.ts';
import { toolsExplainCommand } from './tools/explain.ts';
import { toolsListCommand } from './tools/list.ts';
import { toolsResultCommand } from './tools/result.ts';
import { toolsSearchCommand } from './tools/search.ts';
import { toolsReloadCommand, toolsStartCommand, toolsStopCommand } from './tools/server.ts';
import { toolsStatusCommand } from './tools/status.ts';

const children: readonly (() => Command)[] = [
  toolsListCommand,
  toolsSearchCommand,
  toolsCallCommand,
  toolsResultCommand,
  toolsCallsCommand,
  toolsCancelCommand,
  toolsStatusCommand,
  toolsDiscoverCommand,
  toolsExplainCommand,
  toolsPinCommand,
  toolsDiffCommand,
  toolsAcceptCommand,
  toolsReloadCommand,
  toolsStopCommand,
  toolsStartCommand,
  toolsAuthCommand,
];

/** Defines `signalbox tools …`: the orchestrator from outside. */
export function toolsCommand(): Command {
  const command = new Command('tools').description(
    'See and call the tools that the orchestrator serves, and look after its MCP servers.',
  );
  withExamples(command, 'signalbox tools list --data ./state', 'signalbox tools status --data ./state');
  for (const create of children) command.addCommand(create());
  return command;
}
