import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StdioServerConfig } from '@signalbox/mcp-host';
import { compileCache } from '@signalbox/testing';

/** A real server from npm. */
export function npmServer(
  name: 'everything' | 'filesystem' | 'memory',
  ...args: string[]
): StdioServerConfig {
  const manifest = createRequire(import.meta.url).resolve(
    `@modelcontextprotocol/server-${name}/package.json`,
  );
  return {
    type: 'stdio',
    command: process.execPath,
    args: [join(manifest, '../dist/index.js'), ...args],
    env: compileCache(),
  };
}

/** The server that breaks rules which every SDK keeps; `listFile` holds its list of tools. */
export function nonstandardServer(listFile: string, env: Record<string, string> = {}): StdioServerConfig {
  const script = fileURLToPath(new URL('./nonstandard-server.ts', import.meta.url));
  return {
    type: 'stdio',
    command: process.execPath,
    args: [script],
    env: { TOOL_LIST_FILE: listFile, ...compileCache(), ...env },
  };
}

/** The server whose prompts and resources no SDK would make. */
export function oddMcpContentServer(env: Record<string, string> = {}): StdioServerConfig {
  const script = fileURLToPath(new URL('./odd-mcp-content-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script], env: { ...compileCache(), ...env } };
}

/** The server of revision 2025-11-25 whose tools ask their caller. */
export function askingServer(): StdioServerConfig {
  const script = fileURLToPath(new URL('./asking-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script], env: compileCache() };
}

/** The server that misbehaves on demand. */
export function misbehavingServer(...args: string[]): StdioServerConfig {
  const script = fileURLToPath(new URL('./misbehaving-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script, ...args], env: compileCache() };
}

/** The server that floods its client. */
export function floodingServer(): StdioServerConfig {
  const script = fileURLToPath(new URL('./flooding-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script] };
}

/** A tool as a server lists it, with an input schema that accepts every object. */
export function toolNamed(name: string, rest: Record<string, unknown> = {}) {
  return { name, inputSchema: { type: 'object' }, ...rest };
}
