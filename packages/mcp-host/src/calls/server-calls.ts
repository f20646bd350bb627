import { setTimeout as delay } from 'node:timers/promises';
import { ProtocolErrorCode } from '@modelcontextprotocol/client';
import { type ArgumentCheck, compileArguments } from '@signalbox/argument-check';
import {
  isInputRequired,
  mayRepeat,
  messageOf,
  type Tool,
  type ToolCallError,
  toolCallError,
} from '@signalbox/protocol';
import type { ServerPolicy } from '../config/server-config.ts';
import type { HostEvent } from '../host/host-api.ts';
import { cacheHintOf } from './cache-hint.ts';
import type { CallTarget } from './call-target.ts';
import { withDeadline } from './caller-signal.ts';
import type { CircuitState } from './circuit-breaker.ts';
import { CircuitBreakers } from './circuit-breakers.ts';
import { Latencies } from './latencies.ts';
import { type CacheKey, type Fetched, ResponseCache } from './response-cache.ts';
import { type SentCall, sendCall } from './send-call.ts';
import type { CallOptions, ToolCallResult } from './tool-call.ts';

const cachedPerTool = 64;
/** A shared run ends when nobody waits for it any more; this is only what timers can hold. */
const sharedRunMs = 2 ** 31 - 1;

/** How the calls of one server went. Times in milliseconds, of the last 512 calls that reached it. */
export interface CallStats {
  /** Of the instance that is worst off. */
  circuit: CircuitState;
  /** Failures of the transport, of the instance that has most. */
  consecutiveFailures: number;
  cacheEntries: number;
  /** Answers that needed no call of their own. */
  cacheHits: number;
  /** That reached the server. */
  calls: number;
  p50Ms?: number;
  p95Ms?: number;
}

export interface ServerCallsDeps {
  /** Monotonic milliseconds. */
  now: () => number;
  log: (event: HostEvent) => void;
  /** Resolves after `ms`, or earlier when `signal` aborts; a timer unless given. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * The calls of one configured server, whichever of its instances serves them, in this order: arguments are checked, the
 * cache is asked, then the circuit breaker of the instance, then a connection is waited for and the call made.
 */
export class ServerCalls {
  readonly #deps: ServerCallsDeps;
  readonly #checks = new WeakMap<Tool, ArgumentCheck>();
  readonly #breakers: CircuitBreakers;
  readonly #cache: ResponseCache;
  readonly #latencies = new Latencies();
  readonly #onRun = (ms: number): void => this.#latencies.add(ms);

  constructor(config: ServerPolicy, deps: ServerCallsDeps) {
    this.#deps = deps;
    this.#breakers = new CircuitBreakers(config, deps);
    this.#cache = new ResponseCache({ now: deps.now, entriesPerTool: cachedPerTool });
  }

  /** Never rejects. */
  async call(
    target: CallTarget,
    tool: Tool,
    args: Record<string, unknown>,
    options: CallOptions,
  ): Promise<ToolCallResult> {
    const deadline = this.#deps.now() + options.timeoutMs;
    try {
      const checked = this.#checkOf(tool).check(args);
      if ('error' in checked) return { error: checked.error };
      if (checked.coerced.length > 0) this.#logCoerced(target, tool, checked.coerced);
      const call = { target, tool, args: checked.args, options, deadline };
      if (!isCacheable(tool, options)) return (await this.#send(call)).outcome;
      const key = keyOf(call);
      if (this.#cache.mayHold(key.tool)) return await this.#callCached(call, key);
      const { generation } = this.#cache;
      const fetched = fetchedFrom(await this.#send(call));
      this.#cache.keep(key, fetched, generation);
      return fetched.outcome;
    } catch (thrown) {
      const reason = target.redact(messageOf(thrown));
      return {
        error: toolCallError('internal', `the call of '${tool.name}' failed in the gateway: ${reason}`, {
          mayHaveRun: true,
        }),
      };
    }
  }

  stats(): CallStats {
    const [p50Ms, p95Ms] = this.#latencies.quantiles(0.5, 0.95);
    return {
      ...this.#breakers.worst(),
      cacheEntries: this.#cache.size,
      cacheHits: this.#cache.hits,
      calls: this.#latencies.count,
      ...(p50Ms !== undefined && { p50Ms }),
      ...(p95Ms !== undefined && { p95Ms }),
    };
  }

  /** The tools have changed, and what they answered before may no longer be true. Their checks are compiled as they come. */
  forgetTools(): void {
    this.#cache.clear();
  }

  /** Closes every circuit and empties the cache. */
  reset(): void {
    this.#breakers.reset();
    this.#cache.clear();
  }

  async #callCached(call: Call, key: CacheKey): Promise<ToolCallResult> {
    const { options, deadline } = call;
    using own = withDeadline(options.signal, deadline - this.#deps.now());
    let isWaiting = true;
    const { onProgress } = options;
    const run = async (signal: AbortSignal): Promise<Fetched> => {
      // A run of its own keeps its own deadline.
      if (signal === own.signal) return fetchedFrom(await this.#send(call));
      const shared = {
        ...options,
        signal,
        ...(onProgress && {
          onProgress: (at: Parameters<typeof onProgress>[0]) => isWaiting && onProgress(at),
        }),
      };
      return fetchedFrom(
        await this.#send({ ...call, options: shared, deadline: this.#deps.now() + sharedRunMs }),
      );
    };
    try {
      return await this.#cache.fetch(key, own.signal, run);
    } finally {
      isWaiting = false;
    }
  }

  async #send({ target, tool, args, options, deadline }: Call): Promise<SentCall> {
    const { now, pause = pauseFor } = this.#deps;
    const { instance } = target;
    const breaker = this.#breakers.take(instance);
    try {
      const repeatable = options.repeatable ?? mayRepeat(tool, true);
      return await sendCall(
        { target, tool, args, options, deadline, now, repeatable, onRun: this.#onRun },
        { breaker, pause, onCircuit: (change) => this.#breakers.report(target, breaker, change) },
      );
    } finally {
      this.#breakers.release(instance, breaker);
    }
  }

  #checkOf(tool: Tool): ArgumentCheck {
    const known = this.#checks.get(tool);
    if (known) return known;
    const check = compileArguments(tool);
    this.#checks.set(tool, check);
    return check;
  }

  #logCoerced({ name }: CallTarget, tool: Tool, pointers: string[]): void {
    this.#deps.log({ event: 'arguments_coerced', server: name, tool: tool.name, pointers });
  }
}

interface Call {
  target: CallTarget;
  tool: Tool;
  args: Record<string, unknown>;
  options: CallOptions;
  deadline: number;
}

function keyOf({ target: { instance }, tool, args, options }: Call): CacheKey {
  // The length tells where the instance ends, whatever stands in the two names.
  return { tool: `${instance.length} ${instance} ${tool.name}`, args, scope: options.caller?.agent };
}

/**
 * Only what the tool calls read-only and nobody forbids to repeat. The plan asks for a TTL alone, but a write answered from
 * a cache would not be made.
 */
function isCacheable(tool: Tool, { repeatable = mayRepeat(tool, true), round }: CallOptions): boolean {
  const isFirstRound = round?.inputResponses === undefined && round?.requestState === undefined;
  return repeatable && isFirstRound && tool.annotations?.readOnlyHint === true;
}

function fetchedFrom({ outcome, isHeldBack }: SentCall): Fetched {
  if ('error' in outcome) {
    const shareable = !isHeldBack && !isAboutCapabilities(outcome.error);
    return { outcome, ttlMs: undefined, shareable };
  }
  if (isInputRequired(outcome.result)) return { outcome, ttlMs: undefined, shareable: false };
  return { outcome, ...cacheHintOf(outcome.result) };
}

/** Whether the server wants something of this very client, which another one may well have. */
function isAboutCapabilities({ rpc_error: answered }: ToolCallError): boolean {
  return answered?.code === ProtocolErrorCode.MissingRequiredClientCapability;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
