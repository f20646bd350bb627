import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { cleanEnv, signalboxArgv } from './command-line.ts';
import { everythingText, startWorkspace, type Workspace } from './workspace.ts';

/** Starts `up` with a role for most tests, one whose calls wait for a person and whose large results are kept, and one of few messages. */
export async function startMcpWorkspace(): Promise<Workspace> {
  const { roles, ...config } = JSON.parse(everythingText());
  roles.researcher.tools.push('mcp_everything__toggle-simulated-logging');
  roles.careful = {
    tools: ['mcp_everything__echo'],
    ask: ['everything:echo'],
    results: { maxInlineBytes: 8192 },
  };
  roles.frugal = {
    tools: ['mcp_everything__echo'],
    limits: { rates: { messages: 1, messagesBurst: 60 } },
  };
  return await startWorkspace(() => JSON.stringify({ ...config, roles }), {
    env: { SIGNALBOX_LOG: 'debug' },
  });
}

/** Returns the transport with which a client of MCP's own SDK starts `signalbox worker mcp`. */
export function workerTransport(env: Record<string, string>): StdioClientTransport {
  return new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    stderr: 'ignore',
    env: cleanEnv(env),
  });
}
