import { join } from 'node:path';
import { type Inject, serverName } from './injection.ts';

/**
 * Adds an entry to the project's file, the only one that Cursor's CLI reads, for as long as the agent runs. That file may name servers of
 * the project's author, so only the user may give the option that approves them all.
 */
export const injectCursorAgent: Inject = (
  [program = '', ...rest],
  { faceCommand, cwd, approveWorkspaceServers },
) => {
  const path = join(cwd, '.cursor', 'mcp.json');
  return {
    argv: [program, ...(approveWorkspaceServers ? ['--approve-mcps'] : []), ...rest],
    env: {},
    files: [],
    workspace: { path, keys: ['mcpServers', serverName], value: { ...faceCommand } },
    notes: [
      `${path} has an entry '${serverName}' while the agent runs; it is taken out afterwards`,
      approveWorkspaceServers
        ? `--approve-mcps approves every MCP server that ${path} names, no matter who wrote it, and cursor-agent's own`
        : 'cursor-agent asks before it starts an MCP server, ours too, and without a terminal it starts none: ' +
          `--approve-workspace-servers approves all that ${path} names, so read that file first`,
    ],
  };
};
