import { type CancelSignal, isInputRequired } from '@signalbox/protocol';
import { LRUCache } from 'lru-cache';
import { leftEarly, withDeadline } from '../caller-signal.ts';
import type { ToolCallResult } from '../tool-call.ts';
import { addressOf, type CacheAddress, type CacheKey } from './cache-key.ts';
import { ResponseStore } from './response-store.ts';

/** The longest lifetime, in milliseconds. Longer ones are cut to it: a server that means years most likely means something else. */
const longestTtlMs = 24 * 60 * 60 * 1000;
const defaultMaxBytes = 32 * 1024 * 1024;
/** The most tools whose lifetimes are remembered, over all instances, which come and go with their workers. */
const toolsRemembered = 10_000;

/** The time for which an answer is valid, and the callers for whom. */
export interface AnswerLifetime {
  /** The lifetime from its arrival in milliseconds; an answer is kept for a day at most. Absent or 0: the answer names none. */
  ttlMs: number | undefined;
  /** True if the answer is valid for every caller. Otherwise it is valid for the scope that asked. */
  public: boolean;
}

/** The bounds of a cache, and the function that reads lifetimes. */
export interface ResponseCacheOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  entriesPerTool: number;
  /** The most bytes of all answers together, as JSON; 32 MiB by default. */
  maxBytes?: number;
  /** Reads the lifetime of a result. */
  lifetimeOf: (result: Record<string, unknown>) => AnswerLifetime;
}

/** A caller that waits for an answer until its signal aborts or its time is up. */
interface WaitingCaller {
  signal: CancelSignal;
  timeoutMs: number;
}

/** The lifetime that the last result of a tool named. */
type ToolLifetime = 'none' | 'own' | 'public';

/** A run that several callers may wait for. `scope` is that of the caller that started it. */
interface ActiveRun {
  scope: string | undefined;
  shared: SharedRun<ToolCallResult>;
}

/**
 * Keeps answers that name their lifetime, and lets calls that ask the same at the same time share one run. Errors and `isError` and
 * `input_required` results are never kept. Callers of different scopes share only answers that are declared public. All readers get the
 * same object, so they must not change it.
 */
export class ResponseCache {
  readonly #store: ResponseStore;
  readonly #lifetimeOf: ResponseCacheOptions['lifetimeOf'];
  readonly #runs = new Map<string, ActiveRun>();
  /** The lifetime that each tool's last result named. Calls wait for one another only if that is likely to spare them a run. */
  readonly #lifetimes = new LRUCache<string, ToolLifetime>({ max: toolsRemembered });
  #hits = 0;
  #generation = 0;

  constructor({ now, entriesPerTool, maxBytes = defaultMaxBytes, lifetimeOf }: ResponseCacheOptions) {
    this.#store = new ResponseStore({ now, entriesPerTool, maxBytes });
    this.#lifetimeOf = lifetimeOf;
  }

  /** The number of answers that were given without a run of their own. */
  get hits(): number {
    return this.#hits;
  }

  /** The number of answers that are kept. */
  get size(): number {
    return this.#store.size;
  }

  /** Forgets all answers. An answer that is still coming is not kept either. */
  clear(): void {
    this.#generation++;
    this.#store.clear();
    this.#runs.clear();
    this.#lifetimes.clear();
  }

  /**
   * Resolves with the answer that is kept, that is coming, or that `run` gets. `run` gets the caller's own signal or, if others may also
   * wait for the answer, one that aborts when nobody waits any more. `run` must not reject.
   */
  async fetch(
    key: CacheKey,
    { signal, timeoutMs }: WaitingCaller,
    run: (signal: CancelSignal) => Promise<ToolCallResult>,
  ): Promise<ToolCallResult> {
    const address = addressOf(key);
    if (!address) return run(signal);
    const kept = this.#read(address);
    if (kept) return kept;
    const lifetime = this.#lifetimes.get(key.tool);
    const meetingPlace = lifetime === 'public' ? address.shared : address.own;
    if (lifetime === 'none' || meetingPlace === undefined) return this.#runAndKeep(key, address, run, signal);

    using wait = withDeadline(signal, timeoutMs);
    const present = this.#runs.get(meetingPlace);
    if (!present || present.shared.isAbandoned) {
      const started = this.#start(meetingPlace, key.scope, (until) =>
        this.#runAndKeep(key, address, run, until),
      );
      return (await started.shared.join(wait.signal)) ?? { error: leftEarly(wait.signal) };
    }
    const shared = await present.shared.join(wait.signal);
    if (!shared) return { error: leftEarly(wait.signal) };
    if (!this.#mayShare(shared, present.scope === key.scope)) {
      return this.#runAndKeep(key, address, run, signal);
    }
    this.#hits++;
    return shared;
  }

  /** Tells whether an answer of this tool may be kept or coming. It can't be if the last answer named no lifetime and no run is active. */
  mayHold(tool: string): boolean {
    return this.#lifetimes.get(tool) !== 'none' || this.#store.holds(tool);
  }

  /** A number that changes with each {@link clear}. Read it before a call and pass it to {@link keep} afterwards. */
  get generation(): number {
    return this.#generation;
  }

  /** Keeps the answer to a call that was made without {@link fetch}, if the answer names its lifetime. */
  keep(key: CacheKey, answer: ToolCallResult, generation: number, known?: CacheAddress): void {
    if (generation !== this.#generation || !isSuccess(answer)) return;
    const { ttlMs, public: isPublic } = this.#boundedLifetime(answer);
    const lifetime = ttlMs === undefined ? 'none' : isPublic ? 'public' : 'own';
    if (this.#lifetimes.get(key.tool) !== lifetime) this.#lifetimes.set(key.tool, lifetime);
    if (ttlMs === undefined) return;
    const address = known ?? addressOf(key);
    const place = isPublic ? address?.shared : address?.own;
    if (place !== undefined) this.#store.write(place, key.tool, answer, ttlMs);
  }

  #read({ shared, own }: CacheAddress): ToolCallResult | undefined {
    const kept = this.#store.read(shared) ?? (own === undefined ? undefined : this.#store.read(own));
    if (kept) this.#hits++;
    return kept;
  }

  #start(
    place: string,
    scope: string | undefined,
    run: (until: CancelSignal) => Promise<ToolCallResult>,
  ): ActiveRun {
    const shared = new SharedRun(async (until) => {
      try {
        return await run(until);
      } finally {
        if (this.#runs.get(place) === active) this.#runs.delete(place);
      }
    });
    const active: ActiveRun = { scope, shared };
    this.#runs.set(place, active);
    return active;
  }

  async #runAndKeep(
    key: CacheKey,
    address: CacheAddress,
    run: (signal: CancelSignal) => Promise<ToolCallResult>,
    signal: CancelSignal,
  ): Promise<ToolCallResult> {
    const generation = this.#generation;
    const answer = await run(signal);
    this.keep(key, answer, generation, address);
    return answer;
  }

  /** Tells whether a call that came later may have this answer: a result without a lifetime may already be old for it. */
  #mayShare(answer: ToolCallResult, isSameScope: boolean): boolean {
    if ('error' in answer) return isSameScope && !answer.isCallersOwn;
    if (isInputRequired(answer.result)) return false;
    if (!isSuccess(answer)) return isSameScope;
    const { ttlMs, public: isPublic } = this.#boundedLifetime(answer);
    return ttlMs !== undefined && (isSameScope || isPublic);
  }

  #boundedLifetime({ result }: { result: Record<string, unknown> }): AnswerLifetime {
    const { ttlMs, public: isPublic } = this.#lifetimeOf(result);
    const isBounded = ttlMs !== undefined && ttlMs > 0;
    return { ttlMs: isBounded ? Math.min(ttlMs, longestTtlMs) : undefined, public: isPublic };
  }
}

function isSuccess(answer: ToolCallResult): answer is { result: Record<string, unknown> } {
  return 'result' in answer && answer.result.isError !== true && !isInputRequired(answer.result);
}

/** One run that several callers wait for. It is aborted when the last of them has gone. */
class SharedRun<T> {
  readonly #abort = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;

  constructor(run: (signal: CancelSignal) => Promise<T>) {
    this.#result = run(this.#abort.signal);
  }

  /** True if all callers have gone, so that none can join any more. */
  get isAbandoned(): boolean {
    return this.#abort.signal.aborted;
  }

  /**
   * Resolves with the result of the run; with `undefined` at once when `signal` aborts and others still wait. The last caller to leave
   * aborts the run, with the reason of its own signal, and gets the result of the aborted run.
   */
  join(signal: CancelSignal): Promise<T | undefined> {
    this.#waiting++;
    const { promise: gone, resolve: go } = Promise.withResolvers<undefined>();
    const leave = () => {
      if (--this.#waiting > 0) go(undefined);
      else this.#abort.abort(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    return Promise.race([this.#result, gone]).finally(() => signal.removeEventListener('abort', leave));
  }
}
