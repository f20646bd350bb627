import { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { mcpCommand } from './worker/mcp.ts';

/** `signalbox worker mcp`. */
export function workerCommand(): Command {
  const command = new Command('worker').description('Connect an agent.');
  withExamples(command, 'signalbox worker mcp --token-file researcher.token');
  for (const child of [mcpCommand()]) command.addCommand(child);
  return command;
}
