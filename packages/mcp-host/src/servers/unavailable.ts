import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { ServerState } from './server-status.ts';

/**
 * Returns the error for a call of a server in this state, with advice for its operator; `undefined` if the server takes
 * calls or is about to.
 */
export function unavailableError(
  server: string,
  state: ServerState,
  lastError: string | undefined,
): ToolCallError | undefined {
  const cause = causes[state];
  if (!cause) return undefined;
  const reason = state === 'stopped' || state === 'disabled' || !lastError ? '' : `: ${lastError}`;
  return toolCallError('mcp_server_unreachable', `server '${server}' ${cause.what}${reason}`, {
    mayHaveRun: false,
    retryable: false,
    hint: cause.hint(server),
  });
}

/** Returns the text for a list of problems if a server in this state takes no calls. */
export function unavailableProblem(state: ServerState): string | undefined {
  const cause = causes[state];
  return cause && `not available: it ${cause.what}`;
}

const causes: Partial<Record<ServerState, { what: string; hint: (server: string) => string }>> = {
  ejected: {
    what: 'failed and is not started any more',
    hint: (server) =>
      `Once its cause is repaired, an operator can start it with: signalbox servers reload ${quoted(server)}`,
  },
  refused: {
    what: 'is not served',
    hint: () => 'Take it out of mcpServers, or out of the file that mcpConfig names.',
  },
  needs_auth: {
    what: 'needs somebody to sign in',
    hint: (server) => `An operator can sign in with: signalbox servers auth ${quoted(server)}`,
  },
  stopped: {
    what: 'was stopped',
    hint: (server) => `An operator can start it with: signalbox servers start ${quoted(server)}`,
  },
  not_offered: {
    what: 'is not offered',
    hint: () => 'Its own machine has to run it, under this name.',
  },
  disabled: {
    what: 'is disabled',
    hint: () => 'Take `disabled` out of its configuration.',
  },
};

/** The problem of a server that can't start because every process slot is in use. */
export const noSlotProblem = 'not available: all processes that may run at a time are in use';

/** Returns the error for a call that needs one more process than the `max` that may run. */
export function noSlotError(server: string, max: number): ToolCallError {
  return toolCallError(
    'quota_exceeded',
    `server '${server}' would need one more process, and all ${max} are in use`,
    { mayHaveRun: false, retryable: true, hint: 'Try again when other calls have ended.' },
  );
}

/**
 * Returns the error for a call without a caller, of a server with an instance for each role or worker.
 */
export function noCallerError(server: string, share: string): ToolCallError {
  return toolCallError(
    'permission_denied',
    `server '${server}' has a process for each ${share}, and this call is not made for any`,
    { mayHaveRun: false },
  );
}

/** Quotes a name so that it may be typed into a shell. */
export function quoted(server: string): string {
  return /^[\w.@:/-]+$/.test(server) ? server : `'${server.replaceAll("'", "'\\''")}'`;
}
