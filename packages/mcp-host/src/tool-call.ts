import { mayRepeat, SignalboxError, type Tool, type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Connection, ToolProgress } from './connection.ts';
import { type Failure, failureOf } from './failure.ts';
import { cancelledCall, reportFailure, unreachable } from './failure-report.ts';
import type { HostedServer } from './hosted-server.ts';

/** `signal` cancels the call; `timeoutMs` bounds all of it, a wait for the server included. */
export interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** Called only while the call is under way. */
  onProgress?: (progress: ToolProgress) => void;
  /** Whether a call that was sent may be made again; what the tool declares, unless given. */
  repeatable?: boolean;
  /** Awaited when a connection is there, right before each sending; an error ends the call unsent. */
  beforeSend?: () => Promise<ToolCallError | undefined>;
  /** The request has been handed to the connection. */
  onSent?: () => void;
}

/** The whole MCP result as the server sent it (`isError` results too), or why there is none. */
export type CallOutcome = { result: Record<string, unknown> } | { error: ToolCallError };

/**
 * Calls a tool on a server that may be down just now: the call waits for it until the deadline, and one that provably
 * was not sent goes to the next connection.
 */
export async function callTool(
  server: HostedServer,
  tool: Tool,
  args: Record<string, unknown>,
  options: CallOptions & { now: () => number },
): Promise<CallOutcome> {
  const { signal, now } = options;
  const deadline = now() + options.timeoutMs;
  const timeLeft = () => Math.min(deadline - now(), server.config.timeoutMs ?? Number.POSITIVE_INFINITY);
  let used: Connection | undefined;
  for (;;) {
    const connection = await server.connection(deadline - now(), signal);
    if (signal.aborted) return { error: cancelledCall(tool, false) };
    if (!connection || connection === used) return { error: unreachable(server.name, whyNot(server)) };
    const refusal = timeLeft() > 0 ? await options.beforeSend?.() : undefined;
    if (refusal) return { error: refusal };
    if (signal.aborted) return { error: cancelledCall(tool, false) };
    const timeoutMs = timeLeft();
    if (timeoutMs <= 0)
      return { error: toolCallError('tool_timeout', 'there was no time left', { mayHaveRun: false }) };
    try {
      return {
        result: await server.use(connection, () =>
          runOnce(connection, tool, args, { ...options, timeoutMs }),
        ),
      };
    } catch (thrown) {
      const failure = await judged(thrown, connection, used === undefined);
      if (failure.kind === 'not_sent' && mayRepeat(tool, false)) {
        used = connection;
        continue;
      }
      const { repeatable = mayRepeat(tool, true) } = options;
      const facts = { server: server.name, tool, repeatable, aborted: gaveUp(signal) };
      return { error: reportFailure({ ...failure, reason: server.redact(failure.reason) }, facts) };
    }
  }
}

/** Whether the caller took the call back; a deadline that passed is a timeout, whoever's clock said so first. */
function gaveUp({ aborted, reason }: AbortSignal): boolean {
  const isDeadline =
    (reason instanceof SignalboxError && reason.code === 'timed_out') ||
    (reason instanceof DOMException && reason.name === 'TimeoutError');
  return aborted && !isDeadline;
}

function whyNot(server: HostedServer): string {
  return server.lastError ?? 'it has not started yet';
}

async function runOnce(
  connection: Connection,
  tool: Tool,
  args: Record<string, unknown>,
  { signal, timeoutMs, onProgress, onSent }: CallOptions,
): Promise<Record<string, unknown>> {
  let pending = true;
  const report = onProgress && ((progress: ToolProgress) => pending && onProgress(progress));
  try {
    const answer = connection.callTool(tool.name, args, { signal, timeoutMs }, report);
    onSent?.();
    return await answer;
  } finally {
    pending = false;
  }
}

/** What the error means, seen together with the connection it came over. */
async function judged(thrown: unknown, connection: Connection, first: boolean): Promise<Failure> {
  const failure = failureOf(thrown);
  if (connection.isOpen) return failure;
  // An unknown session is answered before anything runs. Only once: the refusal may be about the call after all.
  if (failure.kind === 'refused' && first) return { kind: 'not_sent', reason: failure.reason };
  if (failure.kind === 'lost') return { kind: 'lost', reason: await connection.lost };
  return failure;
}
