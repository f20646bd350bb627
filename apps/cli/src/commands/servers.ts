import { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { authCommand } from './servers/auth.ts';
import { acceptCommand, diffCommand, pinsCommand } from './servers/definitions.ts';
import { discoverCommand } from './servers/discover.ts';
import { listCommand, showCommand } from './servers/list.ts';
import { reloadCommand, startCommand, stopCommand } from './servers/server.ts';

const children: readonly (() => Command)[] = [
  listCommand,
  showCommand,
  discoverCommand,
  reloadCommand,
  stopCommand,
  startCommand,
  authCommand,
  pinsCommand,
  diffCommand,
  acceptCommand,
];

/** Defines `signalbox servers …`: the hosted MCP servers. */
export function serversCommand(): Command {
  const command = new Command('servers').description(
    'See how the MCP servers are doing, restart them, sign in to them, and accept what they changed.',
  );
  withExamples(command, 'signalbox servers', 'signalbox servers reload everything');
  for (const create of children) command.addCommand(create());
  return command;
}
