import { join } from 'node:path';
import { type Inject, serverName } from './injection.ts';

/** Cursor's CLI reads the project's file only, so our entry stands in it for as long as the agent runs. */
export const injectCursorAgent: Inject = ([program = '', ...rest], { shim, cwd }) => {
  const path = join(cwd, '.cursor', 'mcp.json');
  return {
    argv: [program, '--approve-mcps', ...rest],
    env: {},
    files: [],
    workspace: { path, keys: ['mcpServers', serverName], value: { ...shim } },
    notes: [
      `${path} has an entry '${serverName}' while the agent runs; it is taken out afterwards`,
      "cursor-agent's own MCP servers stay, and --approve-mcps approves them too",
    ],
  };
};
