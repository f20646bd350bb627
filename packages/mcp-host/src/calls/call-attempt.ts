import { type Tool, toolCallError } from '@signalbox/protocol';
import { cancelledCall, reportFailure, unreachable } from '../failures/call-errors.ts';
import { type Failure, failureOf, redactedFailure } from '../failures/failure.ts';
import type { CallExtras, ServerConnection } from '../sdk/connect-server.ts';
import type { CallTarget } from './call-target.ts';
import { gaveUp } from './caller-signal.ts';
import type { Verdict } from './circuit-breaker.ts';
import { verdictOf, wasFairWait } from './circuit-verdict.ts';
import { ProgressRelay } from './progress-relay.ts';
import type { CallOptions, ToolCallResult } from './tool-call.ts';

/** A call on its way. Times in milliseconds on the clock `now`. */
export interface OutgoingCall {
  target: CallTarget;
  tool: Tool;
  args: Record<string, unknown>;
  options: CallOptions;
  /** Whether it may be made again although it was sent. */
  repeatable: boolean;
  deadline: number;
  now: () => number;
  /** It reached the server and ended after so long, well or badly. */
  onRun: (ms: number) => void;
}

/** How one attempt at a call ended. */
export interface Attempt {
  outcome: ToolCallResult;
  /** What that says about the server. */
  verdict: Verdict;
  /** Why a call that had a connection has no result. */
  failure?: Failure;
  connection?: ServerConnection;
  /** The caller itself held the call back, which is nobody else's concern. */
  isHeldBack?: boolean;
}

/** Makes the call once: over a new session if it is a probe, and never over `used`, which an attempt before failed on. */
export function attemptCall(call: OutgoingCall, over: AttemptOptions): Promise<Attempt> {
  const { target, options } = call;
  const open = over.isProbe ? undefined : target.openConnection;
  // Nearly all calls have nothing to wait for, and leave in this turn.
  const isReady = open && open !== over.used && !options.beforeSend && !options.signal.aborted;
  if (isReady && timeLeft(call) > 0) return sendOver(open, call, over.used === undefined);
  return attemptWhenReady(call, over);
}

interface AttemptOptions {
  isProbe: boolean;
  used: ServerConnection | undefined;
}

async function attemptWhenReady(call: OutgoingCall, { isProbe, used }: AttemptOptions): Promise<Attempt> {
  const { target, tool, options, now } = call;
  const { signal } = options;
  const startedAt = now();
  const timeoutMs = call.deadline - startedAt;
  const connection = isProbe
    ? await target.freshConnection(timeoutMs, signal)
    : (target.openConnection ?? (await target.connection(timeoutMs, signal)));
  if (gaveUp(signal)) return { outcome: { error: cancelledCall(tool, false) }, verdict: 'neutral' };
  if (!connection || connection === used) {
    const isSilent = wasFairWait({ waitedMs: now() - startedAt, limitMs: undefined, sawProgress: false });
    const error = unreachable(target.name, target.lastError ?? 'it has not started yet');
    return { outcome: { error }, verdict: isSilent ? 'failure' : 'neutral' };
  }
  const refusal = options.beforeSend && timeLeft(call) > 0 ? await options.beforeSend() : undefined;
  if (refusal) return { outcome: { error: refusal }, verdict: 'neutral', isHeldBack: true };
  if (gaveUp(signal)) return { outcome: { error: cancelledCall(tool, false) }, verdict: 'neutral' };
  if (signal.aborted || timeLeft(call) <= 0) {
    const error = toolCallError('tool_timeout', 'there was no time left', { mayHaveRun: false });
    return { outcome: { error }, verdict: 'neutral' };
  }
  return await sendOver(connection, call, used === undefined);
}

/** For the run: a limit of the server's own bounds nothing before it. */
function timeLeft({ deadline, now, target }: OutgoingCall): number {
  return Math.min(deadline - now(), target.config.timeoutMs ?? Number.POSITIVE_INFINITY);
}

/** Most calls bring nothing with them. */
const noExtras: CallExtras = {};

async function sendOver(
  connection: ServerConnection,
  call: OutgoingCall,
  isFirst: boolean,
): Promise<Attempt> {
  const { target, tool, args, options, now } = call;
  const { signal, onProgress, onSent, round } = options;
  const timeoutMs = timeLeft(call);
  const sentAt = now();
  const progress = onProgress && new ProgressRelay(onProgress);
  const extras = progress || round ? { onProgress: progress?.report, round } : noExtras;
  let broken: unknown;
  target.hold(connection);
  try {
    const answer = connection.callTool(tool.name, args, { signal, timeoutMs }, extras);
    // What is sent in a turn leaves at the end of it.
    if (onSent) process.nextTick(onSent);
    const result = await answer;
    call.onRun(now() - sentAt);
    return { outcome: { result }, verdict: 'success', connection };
  } catch (thrown) {
    broken = thrown;
  } finally {
    progress?.end();
    target.release(connection);
  }
  const ranMs = now() - sentAt;
  const failure = redactedFailure(await failureOver(connection, broken, isFirst), target.redact);
  if (failure.kind !== 'not_sent') call.onRun(ranMs);
  const aborted = gaveUp(signal);
  const waitedMs = signal.aborted ? ranMs : timeoutMs;
  const sawProgress = progress?.sawSome === true;
  const wait = { waitedMs, limitMs: target.config.timeoutMs, sawProgress, aborted };
  const facts = { server: target.name, tool, repeatable: call.repeatable, aborted };
  return {
    outcome: { error: reportFailure(failure, facts) },
    verdict: verdictOf(failure, wait),
    failure,
    connection,
  };
}

/** What the error means, seen together with the connection it came over. */
async function failureOver(
  connection: ServerConnection,
  thrown: unknown,
  isFirst: boolean,
): Promise<Failure> {
  const failure = failureOf(thrown);
  if (connection.isOpen) return failure;
  // An unknown session is answered before anything runs. Only once: the refusal may be about the call after all.
  if (failure.kind === 'refused' && isFirst) return { kind: 'not_sent', reason: failure.reason };
  if (failure.kind === 'lost') return { kind: 'lost', reason: await connection.lost };
  return failure;
}
