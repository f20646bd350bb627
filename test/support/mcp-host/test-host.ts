import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type CallOptions,
  type HostEvent,
  type McpHost,
  type McpHostOptions,
  type StdioServerConfig,
  startMcpHost,
  type ToolCallResult,
} from '@signalbox/mcp-host';
import { compileCache } from '@signalbox/testing';

/** A host whose log can be waited for. */
export interface TestHost extends McpHost {
  events: HostEvent[];
  /** The `count`-th event of that name whose facts match, now or when it comes. */
  seen(event: string, facts?: Record<string, unknown>, count?: number): Promise<HostEvent>;
}

export function startTestHost(options: McpHostOptions): TestHost {
  const events: HostEvent[] = [];
  const watchers = new Set<() => void>();
  const host = startMcpHost({
    random: () => 0,
    ...options,
    log: (event) => {
      events.push(event);
      for (const watch of [...watchers]) watch();
    },
  });
  const seen: TestHost['seen'] = (event, facts = {}, count = 1) =>
    new Promise((resolve) => {
      const watch = () => {
        const matching = events.filter(
          (e) => e.event === event && Object.entries(facts).every(([name, value]) => e[name] === value),
        );
        if (matching.length < count) return;
        watchers.delete(watch);
        resolve(matching[count - 1]!);
      };
      watchers.add(watch);
      watch();
    });
  return Object.assign(host, { events, seen });
}

/** Calls with a deadline no test waits for. */
export function call(
  host: McpHost,
  tool: string,
  args: Record<string, unknown> = {},
  options: Partial<CallOptions> = {},
): Promise<ToolCallResult> {
  return host.call(tool, args, { signal: new AbortController().signal, timeoutMs: 20_000, ...options });
}

/** A real server from npm, run as its package's bin. */
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

export function oddServer(listFile: string, env: Record<string, string> = {}): StdioServerConfig {
  const script = fileURLToPath(new URL('./nonstandard-server.ts', import.meta.url));
  return {
    type: 'stdio',
    command: process.execPath,
    args: [script],
    env: { ODD_LIST: listFile, ...compileCache(), ...env },
  };
}

/** The server that misbehaves on demand, and whose processes can be told apart. */
export function misbehaving(...args: string[]): StdioServerConfig {
  const script = fileURLToPath(new URL('./misbehaving-server.ts', import.meta.url));
  return { type: 'stdio', command: process.execPath, args: [script, ...args] };
}

/** What the first text of a result says, as JSON. */
export function said(outcome: ToolCallResult): Record<string, unknown> {
  if ('error' in outcome) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  const [{ text } = { text: '' }] = outcome.result.content as { text: string }[];
  return JSON.parse(text);
}

export function aTool(name: string, rest: Record<string, unknown> = {}) {
  return { name, inputSchema: { type: 'object' }, ...rest };
}

/** False for a zombie too: it is dead, only nobody has asked how it died. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.includes('Z');
}
