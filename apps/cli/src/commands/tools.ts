import { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { toolsCallCommand } from './tools/call.ts';
import { toolsCallsCommand } from './tools/calls.ts';
import { toolsCancelCommand } from './tools/cancel.ts';
import { toolsExplainCommand } from './tools/explain.ts';
import { toolsListCommand } from './tools/list.ts';
import { toolsMatrixCommand } from './tools/matrix.ts';
import { toolsResultCommand } from './tools/result.ts';
import { toolsSearchCommand } from './tools/search.ts';
import { toolsTopCommand } from './tools/top.ts';

const children: readonly (() => Command)[] = [
  toolsListCommand,
  toolsMatrixCommand,
  toolsSearchCommand,
  toolsCallCommand,
  toolsResultCommand,
  toolsCallsCommand,
  toolsTopCommand,
  toolsCancelCommand,
  toolsExplainCommand,
];

/** Defines `signalbox tools …`: the orchestrator from outside. */
export function toolsCommand(): Command {
  const command = new Command('tools').description(
    'See, find and call the tools that a role may use, and follow the calls.',
  );
  withExamples(command, 'signalbox tools --data ./state', 'signalbox tools calls --running');
  for (const create of children) command.addCommand(create());
  return command;
}
