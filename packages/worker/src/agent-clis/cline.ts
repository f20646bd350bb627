import { join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { type FaceCommand, type Inject, jsonFile, serverName, toolTimeoutMs } from './injection.ts';

/**
 * Names our MCP server in a file that a variable puts in place of the user's file of MCP servers. The second variable keeps cline from
 * leaving a process of its own behind, which would serve later runs with the servers, and so with the revoked token, of this one.
 */
export const injectCline: Inject = (argv, { faceCommand, runDirectory, keepMcp }) => {
  if (keepMcp)
    throw new SignalboxError(
      'usage',
      '--keep-mcp: cline reads one file of MCP servers, and in a run that is ours',
      {
        details: {
          hint: 'leave --keep-mcp out, or host these servers behind Signalbox (mcpServers or mcpConfig)',
        },
      },
    );
  const path = join(runDirectory, 'mcp.json');
  return {
    argv: [...argv],
    env: { CLINE_MCP_SETTINGS_PATH: path, CLINE_SESSION_BACKEND_MODE: 'local' },
    files: [jsonFile(path, { mcpServers: { [serverName]: clineServer(faceCommand) } })],
    notes: [
      "cline's own MCP servers are left out: it reads one file of them, and in a run that is ours",
      'with --auto-approve=false cline asks before it calls our tools, too, and without a terminal it calls none',
    ],
  };
};

/** Returns cline's entry for an MCP server that it starts. Its timeout is in seconds. */
export function clineServer(faceCommand: FaceCommand): Record<string, unknown> {
  return { ...faceCommand, timeout: toolTimeoutMs / 1000 };
}
