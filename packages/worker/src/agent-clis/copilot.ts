import { join } from 'node:path';
import { type Inject, serverName } from './injection.ts';

/** Names our MCP server in a file of MCP servers beside the user's own, and allows its tools. Both are options of this run only. */
export const injectCopilot: Inject = ([program = '', ...rest], { faceCommand, runDirectory }) => {
  const path = join(runDirectory, 'mcp.json');
  const entry = { type: 'local', ...faceCommand, tools: ['*'] };
  return {
    argv: [program, `--additional-mcp-config=@${path}`, `--allow-tool=${serverName}`, ...rest],
    env: {},
    files: [{ path, text: `${JSON.stringify({ mcpServers: { [serverName]: entry } }, undefined, 2)}\n` }],
    notes: ["copilot's own MCP servers stay: it has no option to leave them out"],
  };
};
