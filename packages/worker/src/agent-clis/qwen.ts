import { join } from 'node:path';
import { type Inject, serverName, toolTimeoutMs } from './injection.ts';

/** Names our MCP server in a file of MCP servers beside the user's own, which an option names. */
export const injectQwen: Inject = ([program = '', ...rest], { faceCommand, runDirectory }) => {
  const path = join(runDirectory, 'mcp.json');
  // Without the last key qwen hides most tools behind its search for tools.
  const entry = { ...faceCommand, timeout: toolTimeoutMs, trust: true, alwaysLoadTools: true };
  return {
    argv: [program, `--mcp-config=${path}`, ...rest],
    env: {},
    files: [{ path, text: `${JSON.stringify({ mcpServers: { [serverName]: entry } }, undefined, 2)}\n` }],
    notes: ["qwen's own MCP servers stay"],
  };
};
