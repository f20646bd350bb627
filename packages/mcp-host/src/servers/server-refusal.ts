import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { ServerState } from '../host/host-api.ts';

/** Why a server in this state takes no calls, and what to do about it; `undefined` for one that does, or will. */
export function refusalOf(
  server: string,
  state: ServerState,
  lastError: string | undefined,
): ToolCallError | undefined {
  const way = unavailable[state];
  if (!way) return undefined;
  const reason = state === 'stopped' || state === 'disabled' || !lastError ? '' : `: ${lastError}`;
  return toolCallError('mcp_server_unreachable', `server '${server}' ${way.is}${reason}`, {
    mayHaveRun: false,
    retryable: false,
    hint: way.hint(server),
  });
}

/** The same for a list of problems. */
export function stateProblem(state: ServerState): string | undefined {
  const way = unavailable[state];
  return way && `not available: it ${way.is}`;
}

const unavailable: Partial<Record<ServerState, { is: string; hint: (server: string) => string }>> = {
  ejected: {
    is: 'failed too often and is not started any more',
    hint: (server) => `once its cause is repaired: signalbox tools reload ${quoted(server)}`,
  },
  needs_auth: {
    is: 'needs somebody to sign in',
    hint: (server) => `signalbox tools auth ${quoted(server)}`,
  },
  stopped: {
    is: 'was stopped',
    hint: (server) => `signalbox tools start ${quoted(server)}`,
  },
  disabled: {
    is: 'is disabled',
    hint: () => 'take `disabled` out of its configuration',
  },
};

export const noSlot = 'not available: all processes that may run at a time are in use';

export function noSlotError(server: string, max: number): ToolCallError {
  return toolCallError(
    'quota_exceeded',
    `server '${server}' would need one more process, and all ${max} are in use`,
    { mayHaveRun: false, retryable: true, hint: 'try again when other calls have ended' },
  );
}

/** For a call that does not say whose it is, of a server whose processes are kept apart. */
export function noCallerError(server: string, share: string): ToolCallError {
  return toolCallError(
    'permission_denied',
    `server '${server}' has a process for each ${share}, and this call is not made for any`,
    { mayHaveRun: false },
  );
}

/** As it may be typed into a shell. */
function quoted(server: string): string {
  return /^[\w.@:/-]+$/.test(server) ? server : `'${server.replaceAll("'", "'\\''")}'`;
}
