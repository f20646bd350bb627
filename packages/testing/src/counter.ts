import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programOptions } from './program-options.ts';

/** One action of the counter server. `pid` is the server process that did it. */
export interface CounterLine {
  tool: string;
  args: Record<string, unknown>;
  pid: number;
  at: 'start' | 'end' | 'cancelled';
}

/** A stdio MCP server in the form in which every MCP client configures it. */
export interface CounterServerConfig {
  type: 'stdio';
  command: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * Returns the configuration of a counter server that writes to `file`. Tools: `count`, `slow {ms, label?}`, `echo`, `crash`, `big {bytes}`,
 * `gate {calls?, file?}`; only `echo` and `big` are safe to repeat.
 */
export function counterServer(file: string): CounterServerConfig {
  const script = fileURLToPath(new URL('./counter-server.ts', import.meta.url));
  return {
    type: 'stdio',
    command: process.execPath,
    args: [...programOptions(), script],
    env: { COUNTER_FILE: file, ...compileCache() },
  };
}

/** Returns the variable by which the servers of tests find their compiled code. Servers inherit no environment. */
export function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

/** Reads the actions of the counter servers on this file so far, in order. */
export function readCounter(file: string): CounterLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}
