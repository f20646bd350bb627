import { join } from 'node:path';
import { type Inject, serverName } from './injection.ts';

/** Makes Claude Code list our tools to the model from the start: otherwise they can be hidden behind its search for tools. */
export const claudeLoading = { alwaysLoad: true } as const;

/** Tells Claude Code by a file of MCP servers that is named on its command line. */
export const injectClaude: Inject = ([program = '', ...rest], { faceCommand, runDirectory, keepMcp }) => {
  const path = join(runDirectory, 'mcp.json');
  const servers = { mcpServers: { [serverName]: { type: 'stdio', ...faceCommand, ...claudeLoading } } };
  // Both options take any number of values: only written with "=" do they leave the prompt behind them alone.
  const options = [`--mcp-config=${path}`, `--allowedTools=mcp__${serverName}`];
  return {
    argv: [program, ...options, ...(keepMcp ? [] : ['--strict-mcp-config']), ...rest],
    env: {},
    files: [{ path, text: `${JSON.stringify(servers, undefined, 2)}\n` }],
    notes: keepMcp ? [] : ["claude's own MCP servers are left out; --keep-mcp keeps them"],
  };
};
