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
