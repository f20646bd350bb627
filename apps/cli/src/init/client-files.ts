import { join } from 'node:path';
import { importPathText, namedServers, readImportedFile } from '@signalbox/daemon/config/internal';

/** A file in which an MCP client keeps its servers. */
export interface ClientFile {
  client: string;
  /** The path as it is written in a configuration: relative to its directory, or from the home directory on with `~`. */
  path: string;
}

/** The files of each client, in its home and in a project. */
const places: readonly { client: string; home: readonly string[]; project: readonly string[] }[] = [
  { client: 'Amp', home: ['.config/amp/settings.json'], project: ['.amp/settings.json'] },
  { client: 'Cline', home: ['.cline/data/settings/cline_mcp_settings.json'], project: [] },
  { client: 'Qwen Code', home: ['.qwen/settings.json'], project: ['.qwen/settings.json'] },
  { client: 'Gemini CLI', home: ['.gemini/settings.json'], project: ['.gemini/settings.json'] },
  { client: 'Copilot', home: ['.copilot/mcp-config.json'], project: ['.github/mcp.json'] },
  {
    client: 'Kilo',
    home: ['.config/kilo/config.json', '.config/kilo/kilo.json', '.config/kilo/kilo.jsonc'],
    project: ['kilo.json', 'kilo.jsonc', '.kilocode/kilo.json', '.kilo/kilo.json', '.kilo/kilo.jsonc'],
  },
  {
    client: 'opencode',
    home: [
      '.config/opencode/config.json',
      '.config/opencode/opencode.json',
      '.config/opencode/opencode.jsonc',
    ],
    project: ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json', '.opencode/opencode.jsonc'],
  },
  { client: 'Codex', home: ['.codex/config.toml'], project: ['.codex/config.toml'] },
  {
    client: 'VS Code',
    home: ['.config/Code/User/mcp.json', 'Library/Application Support/Code/User/mcp.json'],
    project: ['.vscode/mcp.json'],
  },
  { client: 'Cursor', home: ['.cursor/mcp.json'], project: ['.cursor/mcp.json'] },
  { client: 'Claude Code', home: ['.claude.json'], project: ['.mcp.json'] },
];

/**
 * Lists the files of known MCP clients that hold servers, in the order in which a configuration names them. The more special ones come
 * last: an entry of a later file replaces one of the same name.
 */
export function clientFiles({ cwd, home }: { cwd: string; home: string }): ClientFile[] {
  const inHome = places.flatMap(({ client, home: files }) =>
    files.map((file) => ({ client: `${client}, all projects`, path: `~/${file}` })),
  );
  const inProject = places.flatMap(({ client, project }) =>
    project.map((file) => ({ client: `${client}, this project`, path: `./${file}` })),
  );
  return [
    ...[...inHome, ...(cwd === home ? [] : inProject)].filter(({ path }) =>
      mayHoldServers(join(path.startsWith('~') ? home : cwd, path.slice(2))),
    ),
    ...claudeProject(cwd, home),
  ];
}

/** Lists the servers that a user of Claude Code added for one directory alone. They stand in the file of all projects. */
function claudeProject(cwd: string, home: string): ClientFile[] {
  const file = join(home, '.claude.json');
  const pointer = ['projects', cwd];
  const read = readImportedFile(file, [pointer]);
  if (!('text' in read) || !namedServers(read.text, { file, pointer })?.length) return [];
  const path = importPathText({ file: '~/.claude.json', pointer });
  return [{ client: 'Claude Code, this directory', path }];
}

/** Returns false for a file that is not there or names no server. One that cannot be read may hold some. */
function mayHoldServers(file: string): boolean {
  const read = readImportedFile(file, [[]]);
  return 'text' in read ? namedServers(read.text, { file, pointer: [] })?.length !== 0 : !read.isGone;
}
