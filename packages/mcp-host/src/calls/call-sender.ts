import {
  isAtLeast,
  isRunningCallState,
  type McpLogMessage,
  type RequestMeta,
  type ToolCallError,
  withoutOwnMeta,
} from '@signalbox/protocol';
import type { TracedSpan, Tracing } from '@signalbox/serving/tracing';
import { beginToolCall, toolError } from '@signalbox/serving/tracing/internal';
import type { WaitingCalls } from '../questions/waiting-calls.ts';
import type { ServerAnswer, ServerConnection, ToolRequest } from '../server-connection.ts';
import {
  type CallOptions,
  errorOfFailure,
  type FailedCall,
  type Failure,
  gaveUp,
  isSessionUnknown,
  mcpErrorCode,
  redactedFailure,
  type ToolCallResult,
} from '../tool-calls/index.ts';
import { wasFairWait } from './circuit/circuit-verdict.ts';
import { Latencies } from './latencies.ts';
import { mendedResult } from './mended-result.ts';
import { withNamedQuestions } from './named-questions.ts';
import { type OutgoingCall, timeLeftOf } from './outgoing-call.ts';
import { ProgressRelay } from './progress-relay.ts';

/** The dependencies of {@link CallSender}. */
export interface CallSenderDeps {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Makes a span of each call that is sent to the server. */
  tracing: Tracing | undefined;
  /** The calls of the host that wait for answers of their callers. */
  waiting: WaitingCalls;
}

/** A call that was sent, until its answer comes. */
export interface SentCall {
  call: OutgoingCall;
  answering: Promise<ServerAnswer>;
  /** Monotonic milliseconds. */
  sentAt: number;
  /** The time that the call had left then, in milliseconds. */
  timeoutMs: number;
  progress: ProgressRelay | undefined;
  span: TracedSpan | undefined;
}

/** Sends calls over connections: makes the request with its limits and its span, relays progress, and reads the answer. */
export class CallSender {
  readonly #deps: CallSenderDeps;
  #latencies = new Latencies();

  constructor(deps: CallSenderDeps) {
    this.#deps = deps;
  }

  /** The durations of the calls that reached the server. */
  get latencies(): Latencies {
    return this.#latencies;
  }

  /** Forgets the durations so far. */
  reset(): void {
    this.#latencies = new Latencies();
  }

  /** Sends a call. Its caller waits for the answer and passes it to `ended`. */
  send(call: OutgoingCall, sending: (request: ToolRequest) => Promise<ServerAnswer>): SentCall {
    const { target, options } = call;
    const { signal, onSent, round } = options;
    const timeoutMs = timeLeftOf(call, this.#deps.now());
    const sentAt = this.#deps.now();
    const progress = options.onProgress && new ProgressRelay(options.onProgress, target.redactResult);
    const span = call.method ? undefined : this.#deps.tracing && beginSpan(this.#deps.tracing, call);
    const meta = metaOf(options, span);
    const { caller, patienceMs = options.timeoutMs } = options;
    const request: ToolRequest = {
      signal,
      timeoutMs,
      // The call may have waited for its server, which leaves less time.
      patienceMs: patienceMs + (call.deadline - sentAt - options.timeoutMs),
      agent: caller?.agent,
      role: caller?.role,
      repeatable: call.repeatable,
      round,
      meta,
      onAsked: call.onAsked ?? options.onAsked,
      onProgress: progress?.report,
      logLevel: options.logLevel,
      onLogMessage: (message) => relayLog(call, message),
    };
    const send = () => sending(request);
    const answering = span ? span.run(send) : send();
    // Messages that are sent in one turn of the event loop are written at its end.
    if (onSent) process.nextTick(onSent);
    return { call, answering, sentAt, timeoutMs, progress, span };
  }

  /** Reads the answer to a call. `attempt` holds its connection, and the failure of an earlier attempt. */
  ended(
    { call, sentAt, timeoutMs, progress, span }: SentCall,
    answer: ServerAnswer,
    attempt?: { connection: ServerConnection; earlier: Failure | undefined },
  ): ToolCallResult {
    const { target, options } = call;
    progress?.end();
    const ranMs = this.#deps.now() - sentAt;
    if ('result' in answer) {
      this.#latencies.add(ranMs);
      const answered = mendedResult(call.method, answer.result);
      span?.end(answered.isError === true ? toolError : undefined);
      const { redactResult } = target;
      const { requestState: state } = answered;
      const waiting = isRunningCallState(state) ? this.#deps.waiting.find(state) : undefined;
      // The state of another call, which a server may know from its caller, changes nothing of that call.
      if (waiting && !this.#deps.waiting.targets.has(waiting))
        this.#deps.waiting.targets.set(waiting, target);
      const result = withNamedQuestions(target.name, withoutOwnMeta(answered));
      return { result: redactResult ? redactResult(result) : result };
    }
    const failure = attempt ? unsentIfSessionUnknown(answer.failure, attempt) : answer.failure;
    if (failure.kind !== 'not_sent') this.#latencies.add(ranMs);
    const isSilent = wasFairWait({
      waitedMs: options.signal.aborted ? ranMs : timeoutMs,
      limitMs: target.config.timeoutMs,
      sawProgress: progress?.sawSome,
    });
    const failed = failedCall(failure.kind === 'timed_out' ? { ...failure, isSilent } : failure, call);
    if (span) endFailed(span, failed.error);
    return failed;
  }
}

/** Passes a log message of the server on to the caller, without secrets, if its level is one that the caller wants. */
function relayLog({ options, target }: OutgoingCall, message: McpLogMessage): void {
  const { logLevel = 'info', onLogMessage } = options;
  const { redactResult } = target;
  if (isAtLeast(message.level, logLevel)) onLogMessage?.(redactResult ? redactResult(message) : message);
}

function beginSpan(tracing: Tracing, { target, tool, options }: OutgoingCall): TracedSpan {
  return beginToolCall(tracing, 'client', {
    tool: tool.name,
    server: target.name,
    agent: options.caller?.agent,
    transport: target.config.type === 'stdio' ? 'pipe' : 'tcp',
    parent: options.traceparent,
  });
}

/** Returns the `_meta` of the request to the server; `undefined` if it would be empty. */
function metaOf(
  { meta, traceparent: caused }: CallOptions,
  span: TracedSpan | undefined,
): RequestMeta | undefined {
  const traceparent = span === undefined ? caused : span.traceparent;
  return traceparent === undefined ? meta : { ...meta, traceparent };
}

/** Ends the span of a call without a result. */
function endFailed(span: TracedSpan, { code, rpc_error: answered }: ToolCallError): void {
  if (answered) span.set({ 'rpc.response.status_code': String(answered.code) });
  span.end(answered ? String(answered.code) : code);
}

/**
 * Marks a call as not sent if the server answered that it does not know the session: it answers so before it runs anything. This holds
 * only for the first attempt: after an attempt that was not sent, the refusal may be about the call itself.
 */
function unsentIfSessionUnknown(
  failure: Failure,
  { connection, earlier }: { connection: ServerConnection; earlier: Failure | undefined },
): Failure {
  if (connection.isOpen || earlier?.kind === 'not_sent' || !isSessionUnknown(failure)) return failure;
  return { kind: 'not_sent', reason: failure.reason };
}

/** Returns the end of a call whose connection gave no result. */
function failedCall(failure: Failure, { target, tool, options, repeatable }: OutgoingCall): FailedCall {
  const redacted = redactedFailure(failure, target.redact);
  const aborted = gaveUp(options.signal);
  const error = errorOfFailure(redacted, { server: target.name, tool, repeatable, aborted });
  return { error, failure: redacted, ...(isAboutCapabilities(error) && { isCallersOwn: true }) };
}

/** Returns true if the server needs a capability that this caller's client lacks. Another caller's client may have it. */
function isAboutCapabilities({ rpc_error: answered }: ToolCallError): boolean {
  return answered?.code === mcpErrorCode.missingRequiredClientCapability;
}
