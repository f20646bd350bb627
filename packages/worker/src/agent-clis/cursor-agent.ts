import { join } from 'node:path';
import { type Inject, serverName } from './injection.ts';

/** Tells Cursor's CLI by an entry in the project's file, the only one that it reads, for as long as the agent runs. */
export const injectCursorAgent: Inject = ([program = '', ...rest], { faceCommand, cwd }) => {
  const path = join(cwd, '.cursor', 'mcp.json');
  return {
    argv: [program, '--approve-mcps', ...rest],
    env: {},
    files: [],
    workspace: { path, keys: ['mcpServers', serverName], value: { ...faceCommand } },
    notes: [
      `${path} has an entry '${serverName}' while the agent runs; it is taken out afterwards`,
      "cursor-agent's own MCP servers stay, and --approve-mcps approves them too",
    ],
  };
};
