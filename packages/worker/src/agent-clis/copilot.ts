import { join } from 'node:path';
import { hookTimeoutMs, type Inject, jsonFile, serverName, toolTimeoutMs } from './injection.ts';

/** The option by which copilot calls all tools of our server without asking. */
export const copilotPermission = `--allow-tool=${serverName}`;

/** The part of copilot's entry for any MCP server that says which tools the model gets, and how long a call may take. */
export const copilotTools = { tools: ['*'], timeout: toolTimeoutMs } as const;

/**
 * Names our MCP server in a file on the command line. Hooks reach copilot by a plugin, which is the run directory itself. It adds both to
 * the user's own.
 */
export const injectCopilot: Inject = ([program = '', ...rest], { faceCommand, runDirectory, mailHook }) => {
  const path = join(runDirectory, 'mcp.json');
  const servers = { mcpServers: { [serverName]: { type: 'local', ...faceCommand, ...copilotTools } } };
  const plugin = mailHook === undefined ? [] : pluginFiles(runDirectory, mailHook);
  return {
    argv: [
      program,
      `--additional-mcp-config=@${path}`,
      copilotPermission,
      ...(plugin.length > 0 ? [`--plugin-dir=${runDirectory}`] : []),
      ...rest,
    ],
    env: {},
    files: [jsonFile(path, servers), ...plugin],
    notes: [
      "copilot's own MCP servers stay: it has no option to leave them out",
      'copilot shows its model no instructions of MCP servers; its --allow-all-mcp-server-instructions shows those of all its servers',
    ],
  };
};

/**
 * Returns the plugin with the hooks before a turn and at its end. Copilot tells hooks of events with these names as Claude Code does, but
 * reads another answer before a turn.
 */
function pluginFiles(directory: string, mailHook: string) {
  const hook = { type: 'command', command: `${mailHook} copilot`, timeout: hookTimeoutMs / 1000 };
  const hooks = { UserPromptSubmit: [{ hooks: [hook] }], Stop: [{ hooks: [hook] }] };
  return [
    jsonFile(join(directory, 'plugin.json'), { name: `${serverName}-mail` }),
    jsonFile(join(directory, 'hooks.json'), { hooks }),
  ];
}
