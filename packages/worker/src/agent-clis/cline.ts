import { join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { type Inject, jsonFile, serverName, toolTimeoutMs } from './injection.ts';

/** The part of cline's entry for any MCP server that says how long it waits for a call, in seconds. */
export const clineTimeout = { timeout: toolTimeoutMs / 1000 } as const;

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
    files: [jsonFile(path, { mcpServers: { [serverName]: { ...faceCommand, ...clineTimeout } } })],
    notes: [
      "cline's own MCP servers are left out: it reads one file of them, and in a run that is ours",
      'with --auto-approve=false cline asks before it calls our tools, too, and without a terminal it calls none',
    ],
  };
};
