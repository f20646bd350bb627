import { isInputRequired } from '@signalbox/protocol';
import { LRUCache } from 'lru-cache';
import { addressOf, type CacheAddress, type CacheKey } from './cache-address.ts';
import { leftEarly } from './caller-signal.ts';
import { ResponseStore } from './response-store.ts';
import { SharedRun } from './shared-run.ts';
import type { ToolCallResult } from './tool-call.ts';

export type { CacheKey } from './cache-address.ts';

/** A server that means years most likely means something else. */
const longestTtlMs = 24 * 60 * 60 * 1000;
const defaultMaxBytes = 32 * 1024 * 1024;
/** Of all instances, which come and go with their workers. */
const toolsRemembered = 10_000;

export interface ResponseCacheOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  entriesPerTool: number;
  /** Of all answers together, as JSON; 32 MiB unless set. */
  maxBytes?: number;
}

/** An answer with how long it holds. */
export interface Fetched {
  outcome: ToolCallResult;
  /** From its arrival; kept for a day at most. Absent or 0: it says nothing about its future. */
  ttlMs: number | undefined;
  /** It holds for every caller. Default: only for the scope that asked. */
  public?: boolean;
  /** False: it concerns only who made the call, not those who wait with it. */
  shareable?: boolean;
}

type Lifetime = 'none' | 'own' | 'public';

interface ActiveRun {
  scope: string | undefined;
  shared: SharedRun<Fetched>;
}

/**
 * Keeps answers that say how long they hold, and makes calls that ask the same at the same time share one run. Errors and
 * `isError` and `input_required` results are never kept. Callers of different scopes share nothing but what is declared public. The outcome
 * handed out is the same object for all: read it only.
 */
export class ResponseCache {
  readonly #store: ResponseStore;
  readonly #runs = new Map<string, ActiveRun>();
  /** What a tool's last result said. Calls wait for one another only where that is likely to spare them a run. */
  readonly #lifetimes = new LRUCache<string, Lifetime>({ max: toolsRemembered });
  #hits = 0;
  #generation = 0;

  constructor({ now, entriesPerTool, maxBytes = defaultMaxBytes }: ResponseCacheOptions) {
    this.#store = new ResponseStore({ now, entriesPerTool, maxBytes });
  }

  /** Answers given without a run of their own. */
  get hits(): number {
    return this.#hits;
  }

  get size(): number {
    return this.#store.size;
  }

  /** Forgets all; an answer that is on its way is not kept either. */
  clear(): void {
    this.#generation++;
    this.#store.clear();
    this.#runs.clear();
    this.#lifetimes.clear();
  }

  /**
   * The answer that is kept, that is on its way, or that `run` gets. `signal` ends the wait of this caller; the one `run`
   * is given aborts when nobody waits any more. `run` must not reject.
   */
  async fetch(
    key: CacheKey,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<Fetched>,
  ): Promise<ToolCallResult> {
    const address = addressOf(key);
    if (!address) return (await run(signal)).outcome;
    const kept = this.#read(address);
    if (kept) return kept;
    const runAndKeep = (until: AbortSignal) => this.#runAndKeep(key, address, () => run(until));
    const lifetime = this.#lifetimes.get(key.tool);
    const meetingPlace = lifetime === 'public' ? address.shared : address.own;
    if (lifetime === 'none' || meetingPlace === undefined) return (await runAndKeep(signal)).outcome;

    const active = this.#runs.get(meetingPlace);
    if (!active || active.shared.isAbandoned) {
      const started = this.#start(meetingPlace, key.scope, runAndKeep);
      return (await started.shared.join(signal))?.outcome ?? { error: leftEarly(signal) };
    }
    const fetched = await active.shared.join(signal);
    if (!fetched) return { error: leftEarly(signal) };
    if (!mayShare(fetched, active.scope === key.scope)) return (await runAndKeep(signal)).outcome;
    this.#hits++;
    return fetched.outcome;
  }

  /** Whether an answer of this tool may be kept or on its way: not if its last one said nothing of its future, and none is. */
  mayHold(tool: string): boolean {
    return this.#lifetimes.get(tool) !== 'none' || this.#store.holds(tool);
  }

  /** To be given to {@link keep} with what a call gets that is made now. */
  get generation(): number {
    return this.#generation;
  }

  /** Keeps what a call got that was made without a look at the cache, if it says how long it holds. */
  keep(key: CacheKey, fetched: Fetched, generation: number, known?: CacheAddress): void {
    if (generation !== this.#generation || !isSuccess(fetched.outcome)) return;
    const ttlMs = lifetimeOf(fetched);
    const lifetime = ttlMs === undefined ? 'none' : fetched.public ? 'public' : 'own';
    if (this.#lifetimes.get(key.tool) !== lifetime) this.#lifetimes.set(key.tool, lifetime);
    if (ttlMs === undefined) return;
    const address = known ?? addressOf(key);
    const place = fetched.public ? address?.shared : address?.own;
    if (place !== undefined) this.#store.write(place, key.tool, fetched.outcome, ttlMs);
  }

  #read({ shared, own }: CacheAddress): ToolCallResult | undefined {
    const kept = this.#store.read(shared) ?? (own === undefined ? undefined : this.#store.read(own));
    if (kept) this.#hits++;
    return kept;
  }

  #start(place: string, scope: string | undefined, run: (until: AbortSignal) => Promise<Fetched>): ActiveRun {
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

  async #runAndKeep(key: CacheKey, address: CacheAddress, run: () => Promise<Fetched>): Promise<Fetched> {
    const generation = this.#generation;
    const fetched = await run();
    this.keep(key, fetched, generation, address);
    return fetched;
  }
}

function lifetimeOf({ ttlMs }: Fetched): number | undefined {
  return ttlMs !== undefined && ttlMs > 0 ? Math.min(ttlMs, longestTtlMs) : undefined;
}

function isSuccess(outcome: ToolCallResult): boolean {
  return 'result' in outcome && outcome.result.isError !== true && !isInputRequired(outcome.result);
}

/** A result that says nothing of its future may be old already for a call that came later. */
function mayShare(fetched: Fetched, sameScope: boolean): boolean {
  if (fetched.shareable === false) return false;
  if (!isSuccess(fetched.outcome)) return sameScope;
  return lifetimeOf(fetched) !== undefined && (sameScope || fetched.public === true);
}
