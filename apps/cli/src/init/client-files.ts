import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importPathText } from '@signalbox/daemon/config/internal';
import { errnoOf } from '@signalbox/protocol/internal';
import { z } from 'zod';

/** A file in which an MCP client keeps its servers. */
export interface ClientFile {
  client: string;
  /** The path as it is written in a configuration: relative to its directory, or from the home directory on with `~`. */
  path: string;
}

/** The places, with the more special ones last: an entry of a later file replaces one of the same name. */
const inHome: readonly ClientFile[] = [
  { client: 'VS Code, all projects', path: '~/.config/Code/User/mcp.json' },
  { client: 'VS Code, all projects', path: '~/Library/Application Support/Code/User/mcp.json' },
  { client: 'Cursor, all projects', path: '~/.cursor/mcp.json' },
  { client: 'Copilot CLI, all projects', path: '~/.copilot/mcp-config.json' },
  { client: 'Gemini CLI, all projects', path: '~/.gemini/settings.json' },
  { client: 'Qwen Code, all projects', path: '~/.qwen/settings.json' },
  { client: 'Cline, all projects', path: '~/.cline/data/settings/cline_mcp_settings.json' },
  { client: 'Claude Code, all projects', path: '~/.claude.json' },
];
const inProject: readonly ClientFile[] = [
  { client: 'VS Code, this project', path: './.vscode/mcp.json' },
  { client: 'Cursor, this project', path: './.cursor/mcp.json' },
  { client: 'Copilot CLI, this project', path: './.github/mcp.json' },
  { client: 'Gemini CLI, this project', path: './.gemini/settings.json' },
  { client: 'Qwen Code, this project', path: './.qwen/settings.json' },
  { client: 'Claude Code and Copilot CLI, this project', path: './.mcp.json' },
];

/** Lists the files of known MCP clients that hold servers, in the order in which a configuration names them. */
export function clientFiles({ cwd, home }: { cwd: string; home: string }): ClientFile[] {
  const known = [...inHome, ...(cwd === home ? [] : inProject)];
  return [
    ...known.filter(({ path }) => mayHoldServers(join(path.startsWith('~') ? home : cwd, path.slice(2)))),
    ...claudeProject(cwd, home),
  ];
}

const claudeSchema = z.object({
  projects: z.record(z.string(), z.object({ mcpServers: z.record(z.string(), z.unknown()).optional() })),
});

/** Lists the servers that a user of Claude Code added for one directory alone. They stand in the file of all projects. */
function claudeProject(cwd: string, home: string): ClientFile[] {
  try {
    const { projects } = claudeSchema.parse(JSON.parse(readFileSync(join(home, '.claude.json'), 'utf8')));
    if (Object.keys(projects[cwd]?.mcpServers ?? {}).length === 0) return [];
  } catch {
    return [];
  }
  const path = importPathText({ file: '~/.claude.json', pointer: ['projects', cwd] });
  return [{ client: 'Claude Code, this directory', path }];
}

const serversSchema = z.object({
  mcpServers: z.record(z.string(), z.unknown()).optional(),
  servers: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Returns false for a file that is not there or names no server. One that cannot be read may hold some, and so may one that is no
 * plain JSON, because it may have comments.
 */
function mayHoldServers(file: string): boolean {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = errnoOf(error);
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
  try {
    const { mcpServers = {}, servers = {} } = serversSchema.parse(JSON.parse(text));
    return Object.keys({ ...mcpServers, ...servers }).length > 0;
  } catch {
    return true;
  }
}
