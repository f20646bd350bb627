import { statSync } from 'node:fs';
import type { Config } from '@signalbox/daemon/config';
import { SignalboxError } from '@signalbox/protocol';
import { findProgram } from '@signalbox/worker/internal';

/** Warns of servers whose command or working directory is not there, so that they could not be started now. */
export function missingCommands({ mcpServers, origins }: Config, env: NodeJS.ProcessEnv): string[] {
  return Object.entries(mcpServers).flatMap(([name, server]) => {
    if (server.type !== 'stdio' || server.disabled) return [];
    const { command, cwd = process.cwd() } = server;
    const { file, line } = origins[name] ?? { file: '(config)', line: 1 };
    const place = `${file}:${line}: mcpServers.${name}`;
    // The host makes the folders that a placeholder stands for.
    const isKnown = !cwd.includes('${');
    if (isKnown && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
      return [`${place}: its working directory ${cwd} is not there: make it, or change cwd`];
    }
    if (!isKnown && command.startsWith('.')) return [];
    try {
      findProgram(command, cwd, server.env?.PATH ?? env.PATH);
      return [];
    } catch (error) {
      if (!(error instanceof SignalboxError) || error.code !== 'command_not_found') throw error;
      const [program, ...args] = command.split(' ');
      const cure =
        args.length > 0
          ? `; if ${args.length === 1 ? 'its second word is an argument' : 'the words after the first are arguments'}, write command: ${program} and args: [${args.join(', ')}]`
          : '';
      return [`${place}: ${error.message}; the server cannot start${cure}`];
    }
  });
}
