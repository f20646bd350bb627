import { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { configCommand } from './worker/config.ts';
import { echoCommand } from './worker/echo.ts';
import { faceCommand } from './worker/face.ts';
import { mcpCommand } from './worker/mcp.ts';
import { runCommand } from './worker/run.ts';
import { serveCommand } from './worker/serve.ts';
import { stopCommand } from './worker/stop.ts';

/** Defines `signalbox worker mcp|run|serve|stop|config|echo|face`. */
export function workerCommand(): Command {
  const command = new Command('worker').description('Connect an agent.');
  withExamples(command, 'signalbox worker mcp --token-file researcher.token');
  for (const child of [
    mcpCommand(),
    runCommand(),
    serveCommand(),
    stopCommand(),
    configCommand(),
    echoCommand(),
    faceCommand(),
  ])
    command.addCommand(child);
  return command;
}
