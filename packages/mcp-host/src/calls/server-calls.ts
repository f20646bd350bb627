import { setTimeout as delay } from 'node:timers/promises';
import { isRunningCallState, mayRepeat, messageOf, toolCallError } from '@signalbox/protocol';
import { abortSignalOf } from '@signalbox/protocol/internal';
import type { ServerPolicy } from '../config/server-config.ts';
import type { HostEvent } from '../host-event.ts';
import type { CallIdentity, WaitingCall } from '../questions/waiting-calls.ts';
import type { ServerAnswer, ServerConnection, ToolRequest } from '../server-connection.ts';
import {
  type CacheKey,
  cancelledCall,
  circuitOpen,
  type FailedCall,
  type Failure,
  gaveUp,
  noWaitingCall,
  ResponseCache,
  serversWords,
  type ToolCallResult,
  unreachable,
  withEarlierTry,
} from '../tool-calls/index.ts';
import { cacheHintOf } from './cache-hint.ts';
import { CallSender, type CallSenderDeps } from './call-sender.ts';
import type { CallTarget } from './call-target.ts';
import type { CircuitState, Permit } from './circuit/circuit-breaker.ts';
import { CircuitBreakers } from './circuit/circuit-breakers.ts';
import { verdictOf, wasFairWait } from './circuit/circuit-verdict.ts';
import { type OutgoingCall, timeLeftOf } from './outgoing-call.ts';
import { ProgressRelay } from './progress-relay.ts';
import type { ToolCall } from './tool-call.ts';

const cachedPerTool = 64;
/** The pause before a call is made a second time, in milliseconds. */
const retryPauseMs = 250;

/** The statistics of the calls of one server. Times are in milliseconds, of the last 512 calls that reached it. */
export interface CallStats {
  /** The worst state among the circuit breakers of the server's instances. */
  circuit: CircuitState;
  /** The largest number of consecutive transport failures of any instance. */
  consecutiveFailures: number;
  cacheEntries: number;
  /** The number of calls that were answered without a run of their own. */
  cacheHits: number;
  /** The number of calls that reached the server. */
  calls: number;
  p50Ms?: number;
  p95Ms?: number;
}

/** The dependencies of {@link ServerCalls}. */
export interface ServerCallsDeps extends CallSenderDeps {
  log: (event: HostEvent) => void;
}

/**
 * Makes the calls of one hosted server on all its instances, with arguments that were checked. The methods stand in the order of the steps:
 * ask the cache, pass the circuit breaker, get a connection, send the call, keep the answer.
 */
export class ServerCalls {
  readonly #deps: ServerCallsDeps;
  readonly #breakers: CircuitBreakers;
  readonly #cache: ResponseCache;
  readonly #sender: CallSender;
  /** The lost sessions that count as one failure, however many calls they had. */
  readonly #lost = new WeakSet<ServerConnection>();

  constructor(config: ServerPolicy, deps: ServerCallsDeps) {
    this.#deps = deps;
    this.#breakers = new CircuitBreakers(config, deps);
    this.#sender = new CallSender(deps);
    this.#cache = new ResponseCache({
      now: deps.now,
      entriesPerTool: cachedPerTool,
      lifetimeOf: cacheHintOf,
    });
  }

  /**
   * Continues a call that waits for the answers of its caller. Returns `undefined` if this call has no answers, or if it may be made from
   * its beginning because the call that asked has ended.
   */
  goOn(server: string, call: ToolCall): Promise<ToolCallResult> | undefined {
    const { tool, options } = call;
    const { round, repeatable = mayRepeat(tool, true) } = options;
    const state = round?.requestState;
    if (!isRunningCallState(state)) return undefined;
    const waiting = this.#deps.waiting.find(state);
    const target = waiting && this.#deps.waiting.targets.get(waiting);
    if (target && waiting.is(identityOf(server, call)))
      return this.#goOn({ ...call, target, repeatable }, waiting);
    return repeatable ? undefined : Promise.resolve({ error: noWaitingCall(tool) });
  }

  async #goOn(call: OutgoingCall, waiting: WaitingCall): Promise<ToolCallResult> {
    const { beforeSend, round } = call.options;
    const refusal = await beforeSend?.();
    if (refusal) return { error: refusal };
    // Another request may have brought answers meanwhile.
    if (this.#deps.waiting.find(round?.requestState ?? '') !== waiting)
      return { error: noWaitingCall(call.tool) };
    const sent = this.#sender.send(call, (request) => waiting.goOn(round?.inputResponses ?? {}, request));
    return forCaller(this.#sender.ended(sent, await sent.answering));
  }

  /** Makes a call of one of the server's tools. Never rejects. */
  async call(
    target: CallTarget,
    { tool, method, args, options, deadline, barred, onAsked }: ToolCall,
  ): Promise<ToolCallResult> {
    try {
      const repeatable = options.repeatable ?? mayRepeat(tool, true);
      const call: OutgoingCall = {
        target,
        tool,
        method,
        args,
        options,
        repeatable,
        deadline,
        barred,
        onAsked,
      };
      const key = cacheKeyOf(call);
      if (key && this.#cache.mayHold(key.tool)) return forCaller(await this.#sendUnlessCached(key, call));
      const { generation } = this.#cache;
      const ended = await this.#send(call);
      if (key) this.#cache.keep(key, ended, generation);
      return forCaller(ended);
    } catch (thrown) {
      const reason = serversWords(target.redact(messageOf(thrown)));
      const message = `the call of '${tool.name}' failed in the gateway: ${reason}`;
      return { error: toolCallError('internal', message, { mayHaveRun: true }) };
    }
  }

  /** Answers from the cache, or joins a running call with the same arguments, or makes the call. */
  async #sendUnlessCached(key: CacheKey, call: OutgoingCall): Promise<ToolCallResult> {
    const { options } = call;
    const progress = options.onProgress && new ProgressRelay(options.onProgress);
    const timeoutMs = call.deadline - this.#deps.now();
    try {
      return await this.#cache.fetch(key, { signal: options.signal, timeoutMs }, (signal) => {
        if (signal === options.signal) return this.#send(call);
        // A run that several callers wait for ends when the last of them has gone, not at the deadline of the first one.
        const shared = { ...options, signal, ...(progress && { onProgress: progress.report }) };
        return this.#send({ ...call, options: shared, deadline: Number.POSITIVE_INFINITY });
      });
    } finally {
      progress?.end();
    }
  }

  /**
   * Makes the call if the circuit breaker lets it through, and once more after a failure of the transport if the tool and the deadline
   * allow it. `earlier` is the failure of the first attempt.
   */
  async #send(call: OutgoingCall, earlier?: Failure): Promise<ToolCallResult> {
    const { target, options } = call;
    const breaker = this.#breakers.breakerOf(target.instance);
    const permit = breaker.enter();
    if ('retryAfterMs' in permit) return { error: circuitOpen(target.name, permit) };
    let ended: ToolCallResult | undefined;
    let session: ServerConnection | undefined;
    try {
      const connection = this.#readyConnection(call, permit) ?? (await this.#connectionFor(call, permit));
      if ('error' in connection) ended = connection;
      else {
        session = connection;
        const barring = call.barred?.();
        if (barring) ended = { error: barring, isCallersOwn: true };
        else {
          const sent = this.#sender.send(call, (request) => sendTo(connection, call, request));
          ended = this.#sender.ended(sent, await sent.answering, { connection, earlier });
        }
      }
    } finally {
      const failure = ended && 'error' in ended ? ended.failure : undefined;
      const isAnswered = ended !== undefined && 'result' in ended;
      const isLost = session !== undefined && failure?.kind === 'lost' && !session.isOpen;
      const verdict = isAnswered
        ? 'success'
        : verdictOf(failure, {
            aborted: gaveUp(options.signal),
            isElsewhere: target.config.type === 'remote',
            hasCounted: isLost && this.#lost.has(session!),
          });
      if (isLost && verdict === 'failure') this.#lost.add(session!);
      const cause = verdict === 'failure' ? (failure?.reason ?? target.lastError) : undefined;
      const change = breaker.leave(permit, verdict, cause);
      if (change) this.#breakers.report(target, breaker, change);
    }
    if ('result' in ended || earlier || !this.#mayRetry(ended, call)) return ended;
    return await this.#sendAgain(call, ended.failure);
  }

  async #sendAgain(call: OutgoingCall, first: Failure): Promise<ToolCallResult> {
    const { tool, options } = call;
    await delay(retryPauseMs, undefined, { signal: abortSignalOf(options.signal) }).catch(() => {});
    if (gaveUp(options.signal)) return { error: cancelledCall(tool, first.kind === 'lost') };
    const second = await this.#send(call, first);
    return 'result' in second ? second : { ...second, error: withEarlierTry(second.error, first) };
  }

  /**
   * Returns the connection for a call that does not have to wait, like nearly all calls, so that it is sent in this turn of the event loop.
   */
  #readyConnection(call: OutgoingCall, { isProbe }: Permit): ServerConnection | undefined {
    const { target, options } = call;
    const mayGo =
      !isProbe && !options.beforeSend && !options.signal.aborted && timeLeftOf(call, this.#deps.now()) > 0;
    return mayGo ? target.openConnection : undefined;
  }

  /** Waits for a connection, a new one for a probe, and then for the caller's permission to send. */
  async #connectionFor(call: OutgoingCall, { isProbe }: Permit): Promise<ServerConnection | FailedCall> {
    const { target, tool, options } = call;
    const { signal, beforeSend } = options;
    const startedAt = this.#deps.now();
    const timeoutMs = call.deadline - startedAt;
    const connection = isProbe
      ? await target.freshConnection(timeoutMs, signal)
      : (target.openConnection ?? (await target.connection(timeoutMs, signal)));
    if (gaveUp(signal)) return { error: cancelledCall(tool, false) };
    if (!connection) {
      const isSilent = wasFairWait({ waitedMs: this.#deps.now() - startedAt });
      const reason = target.lastError ?? 'it has not started yet';
      return {
        error: unreachable(target.name, reason, target.outage),
        failure: { kind: 'timed_out', reason, isSilent },
      };
    }
    // This check comes first, so that the start of a call that can't be made is not recorded.
    const barring = call.barred?.();
    if (barring) return { error: barring, isCallersOwn: true };
    const refusal = beforeSend && timeLeftOf(call, this.#deps.now()) > 0 ? await beforeSend() : undefined;
    if (refusal) return { error: refusal, isCallersOwn: true };
    if (gaveUp(signal)) return { error: cancelledCall(tool, false) };
    if (!signal.aborted && timeLeftOf(call, this.#deps.now()) > 0) return connection;
    return {
      error: toolCallError('tool_timeout', 'the deadline of the call passed before it could be sent', {
        mayHaveRun: false,
      }),
    };
  }

  /** Tells whether a failed call is made a second time. It never is after a timeout, because a server that hangs would hang twice. */
  #mayRetry(
    ended: FailedCall,
    { tool, repeatable, options, deadline }: OutgoingCall,
  ): ended is FailedCall & { failure: Failure } {
    const kind = ended.failure?.kind;
    const isAllowed = kind === 'not_sent' ? mayRepeat(tool, false) : kind === 'lost' && repeatable;
    return isAllowed && !options.signal.aborted && deadline - this.#deps.now() > retryPauseMs;
  }

  /** Returns the statistics of the calls so far. */
  stats(): CallStats {
    const { latencies } = this.#sender;
    const [p50Ms, p95Ms] = latencies.quantiles(0.5, 0.95);
    return {
      ...this.#breakers.worst(),
      cacheEntries: this.#cache.size,
      cacheHits: this.#cache.hits,
      calls: latencies.count,
      ...(p50Ms !== undefined && { p50Ms }),
      ...(p95Ms !== undefined && { p95Ms }),
    };
  }

  /** Empties the cache: the tools have changed, and their earlier answers may no longer be true. */
  forgetAnswers(): void {
    this.#cache.clear();
  }

  /** Closes every circuit, empties the cache, and counts and measures calls anew. */
  reset(): void {
    this.#sender.reset();
    this.#breakers.reset();
    this.#cache.clear();
  }
}

/**
 * Returns the key under which an answer may be cached; `undefined` if it must not be cached. Only tools that are declared read-only and
 * that may be repeated are cached: a write that is answered from a cache would not be made.
 */
function cacheKeyOf({ target, tool, args, repeatable, options }: OutgoingCall): CacheKey | undefined {
  const { round, caller } = options;
  const isFirstRound = round?.inputResponses === undefined && round?.requestState === undefined;
  if (!repeatable || !isFirstRound || tool.annotations?.readOnlyHint !== true) return undefined;
  // The length shows where the name of the instance ends, as both names may hold any character.
  const name = `${target.instance.length} ${target.instance} ${tool.name}`;
  return { tool: name, args, scope: caller?.agent };
}

/** Sends a call over a connection. */
function sendTo(
  connection: ServerConnection,
  { method, tool, args }: OutgoingCall,
  request: ToolRequest,
): Promise<ServerAnswer> {
  return method ? connection.request(method, args, request) : connection.callTool(tool.name, args, request);
}

function identityOf(server: string, { tool, method, args, options }: ToolCall): CallIdentity {
  return { server, agent: options.caller?.agent, name: method ?? tool.name, args };
}

/** Leaves out the fields that only the steps of a call need. */
function forCaller(ended: ToolCallResult): ToolCallResult {
  return 'result' in ended ? ended : { error: ended.error };
}
