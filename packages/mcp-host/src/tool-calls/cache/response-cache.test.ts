import type { CancelSignal } from '@signalbox/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolCallResult } from '../tool-call.ts';
import type { CacheKey } from './cache-key.ts';
import { type AnswerLifetime, ResponseCache } from './response-cache.ts';

const until = (signal: CancelSignal) => ({ signal, timeoutMs: 60_000 });
const never = until(new AbortController().signal);
/** The end of a run, with the lifetime of its answer. */
interface Fetched extends Partial<AnswerLifetime> {
  outcome: ToolCallResult;
  isCallersOwn?: boolean;
}
const lifetimes = new WeakMap<object, AnswerLifetime>();
const lifetimeOf = (result: object) => lifetimes.get(result) ?? { ttlMs: undefined, public: false };
const ended = ({ outcome, ttlMs, public: isPublic = false, isCallersOwn }: Fetched): ToolCallResult => {
  if ('result' in outcome) lifetimes.set(outcome.result, { ttlMs, public: isPublic });
  return 'error' in outcome && isCallersOwn ? { ...outcome, isCallersOwn } : outcome;
};
const answer = (n: unknown, rest: Record<string, unknown> = {}): ToolCallResult => ({
  result: { n, ...rest },
});
const error: ToolCallResult = {
  error: { code: 'internal', message: 'x', category: 'permanent', retryable: false, may_have_run: true },
};
const rosa: CacheKey = { tool: 't', args: { a: 1 }, scope: 'rosa' };
const walt: CacheKey = { ...rosa, scope: 'walt' };

function cacheWith(options: { entriesPerTool?: number; maxBytes?: number } = {}) {
  const clock = { now: 0 };
  const cache = new ResponseCache({ now: () => clock.now, entriesPerTool: 64, lifetimeOf, ...options });
  let runs = 0;
  /** Asks; a run, if one is made, answers with its number. */
  const ask = async (key: CacheKey, fetched: Partial<Fetched> = { ttlMs: 100 }) => {
    const outcome = await cache.fetch(key, never, async () => {
      const n = ++runs;
      return ended({ outcome: answer(n), ...fetched });
    });
    return 'result' in outcome ? outcome.result.n : outcome.error.code;
  };
  return { clock, cache, ask, runs: () => runs };
}

/** Makes a run that ends when the test says so. */
function pendingRun() {
  const { promise, resolve } = Promise.withResolvers<ToolCallResult>();
  const seen: CancelSignal[] = [];
  const run = (signal: CancelSignal) => {
    seen.push(signal);
    signal.addEventListener('abort', () => resolve(error));
    return promise;
  };
  return { run, seen, finish: (fetched: Fetched) => resolve(ended(fetched)) };
}

describe('kept answers', () => {
  it('hold from their arrival to the last millisecond of their lifetime, also on a clock at zero', async () => {
    const { clock, ask, cache } = cacheWith();
    expect(await ask(rosa)).toBe(1);
    clock.now = 99;
    expect(await ask(rosa)).toBe(1);
    expect(cache).toMatchObject({ hits: 1, size: 1 });
    clock.now = 100;
    expect(cache.size).toBe(0);
    expect(await ask(rosa)).toBe(2);
  });

  it('hold for a day at most', async () => {
    const { clock, ask } = cacheWith();
    await ask(rosa, { ttlMs: Number.MAX_VALUE });
    clock.now = 24 * 60 * 60 * 1000;
    expect(await ask(rosa)).toBe(2);
  });

  it.each<[string, Partial<Fetched>]>([
    ['without a lifetime', { ttlMs: undefined }],
    ['with a lifetime of zero', { ttlMs: 0 }],
    ['that is an error', { ttlMs: 100, outcome: error }],
    ['of a tool that failed', { ttlMs: 100, outcome: answer('failed', { isError: true }) }],
    ['that asks for input', { ttlMs: 100, outcome: answer('asks', { resultType: 'input_required' }) }],
  ])('do not include an answer %s', async (_, fetched) => {
    const { ask, cache, runs } = cacheWith();
    await ask(rosa, fetched);
    expect(cache.size).toBe(0);
    await ask(rosa);
    expect(cache.hits).toBe(0);
    expect(runs()).toBeGreaterThan(0);
  });

  it('are found by what the arguments mean, not by how they are written', async () => {
    const { ask } = cacheWith();
    await ask({ ...rosa, args: { a: 1, b: { c: 1, d: [1, 2] } } });
    expect(await ask({ ...rosa, args: { b: { d: [1, 2], c: 1.0 }, a: 1 } })).toBe(1);
    expect(await ask({ ...rosa, args: { a: 1, b: { c: 1, d: [2, 1] } } })).toBe(2);
    expect(await ask({ ...rosa, args: { a: '1', b: { c: 1, d: [1, 2] } } })).toBe(3);
  });

  it('are not made for arguments that have no canonical form', async () => {
    const { ask, cache } = cacheWith();
    expect(await ask({ ...rosa, args: { a: '\ud800' } })).toBe(1);
    expect(cache.size).toBe(0);
  });

  it('are read by their own scope only, unless they are public', async () => {
    const { ask } = cacheWith();
    expect(await ask(rosa)).toBe(1);
    expect(await ask(walt)).toBe(2);
    expect(await ask({ ...rosa, scope: undefined })).toBe(3);
    expect([await ask(rosa), await ask(walt)]).toEqual([1, 2]);
    const everybody = { ...rosa, tool: 'p' };
    expect(await ask(everybody, { ttlMs: 100, public: true })).toBe(4);
    expect([await ask({ ...walt, tool: 'p' }), await ask({ ...rosa, tool: 'p', scope: undefined })]).toEqual([
      4, 4,
    ]);
  });

  it('make room within their tool for the one least used', async () => {
    const { ask, cache } = cacheWith({ entriesPerTool: 2 });
    const key = (a: number): CacheKey => ({ ...rosa, args: { a } });
    await ask({ ...rosa, tool: 'other' });
    await ask(key(1));
    await ask(key(2));
    await ask(key(1));
    await ask(key(3));
    expect(cache.size).toBe(3);
    expect(await ask(key(1))).toBe(2);
    expect(await ask(key(2))).toBe(5);
    expect(await ask({ ...rosa, tool: 'other' })).toBe(1);
  });

  it('take no more bytes than allowed, and one answer no more than a quarter of them', async () => {
    const { ask, cache } = cacheWith({ maxBytes: 4_000 });
    const long = (letters: number) => ({ ttlMs: 100, outcome: answer('x'.repeat(letters)) });
    for (let a = 0; a < 10; a++) await ask({ ...rosa, tool: `t${a}`, args: { a } }, long(700));
    expect(cache.size).toBe(5);
    await ask({ ...rosa, tool: 'big' }, long(1_100));
    expect(await ask({ ...rosa, tool: 'big' })).toBe(12);
    expect(await ask({ ...rosa, tool: 't9', args: { a: 9 } })).toHaveLength(700);
  });

  it('go with a clear, and so do answers that were on their way', async () => {
    const { cache, ask } = cacheWith();
    await ask(rosa);
    const { run, finish } = pendingRun();
    const coming = cache.fetch({ ...rosa, tool: 'slow' }, never, run);
    cache.clear();
    finish({ outcome: answer('late'), ttlMs: 100 });
    expect(await coming).toEqual(answer('late'));
    expect(cache.size).toBe(0);
    expect(await ask(rosa)).toBe(2);
  });
});

describe('calls at the same time', () => {
  it('share one run if they ask the same', async () => {
    const { cache, ask, runs } = cacheWith();
    expect(await Promise.all([ask(rosa), ask(rosa), ask(rosa), ask({ ...rosa, args: {} })])).toEqual([
      1, 1, 1, 2,
    ]);
    expect(runs()).toBe(2);
    expect(cache.hits).toBe(2);
  });

  it('share the error of their run with their own scope', async () => {
    const { ask, runs } = cacheWith();
    const failed = { outcome: error };
    expect(await Promise.all([ask(rosa, failed), ask(rosa, failed)])).toEqual(['internal', 'internal']);
    expect(runs()).toBe(1);
  });

  it('run on their own when the first answer turns out to say nothing of its future, and do not wait the next time', async () => {
    const { cache, ask } = cacheWith();
    const first = pendingRun();
    const leader = cache.fetch(rosa, never, first.run);
    const follower = ask(rosa, { ttlMs: undefined });
    first.finish({ outcome: answer('first'), ttlMs: undefined });
    expect(await leader).toEqual(answer('first'));
    expect(await follower).toBe(1);

    const second = pendingRun();
    const slow = cache.fetch(rosa, never, second.run);
    expect(await ask(rosa, { ttlMs: undefined })).toBe(2);
    second.finish({ outcome: answer('second'), ttlMs: undefined });
    await slow;
  });

  it('run on their own when the run they waited for was held back by its caller', async () => {
    const { ask, runs } = cacheWith();
    const heldBack = { outcome: error, isCallersOwn: true };
    expect(await Promise.all([ask(rosa, heldBack), ask(rosa)])).toEqual(['internal', 2]);
    expect(runs()).toBe(2);
  });

  it('of different scopes share a run only once the tool is known to be public, and not if it changes its mind', async () => {
    const { ask, runs, clock } = cacheWith();
    const everybody = { ttlMs: 100, public: true };
    await Promise.all([ask(rosa, everybody), ask(walt, everybody)]);
    expect(runs()).toBe(2);
    clock.now = 200;
    expect(await Promise.all([ask(rosa, everybody), ask(walt, everybody)])).toEqual([3, 3]);
    clock.now = 400;
    const mine = { ttlMs: 100, public: false };
    expect(await Promise.all([ask(rosa, mine), ask(walt, mine)])).toEqual([4, 5]);
    expect([await ask(rosa), await ask(walt)]).toEqual([4, 5]);
  });

  it('go one by one: the run ends with the last of them, for the reason the last one gave', async () => {
    const { cache } = cacheWith();
    const { run, seen } = pendingRun();
    const [first, second] = [new AbortController(), new AbortController()];
    const leaving = cache.fetch(rosa, until(first.signal), run);
    const staying = cache.fetch(rosa, until(second.signal), run);
    first.abort(new DOMException('late', 'TimeoutError'));
    expect(await leaving).toMatchObject({ error: { code: 'tool_timeout', may_have_run: true } });
    expect(seen).toHaveLength(1);
    expect(seen[0]!.aborted).toBe(false);
    second.abort('enough');
    expect(await staying).toBe(error);
    expect(seen[0]!.reason).toBe('enough');
  });

  it('are cancelled without harm to those who wait on', async () => {
    const { cache, ask } = cacheWith();
    const { run, finish } = pendingRun();
    const abort = new AbortController();
    const leaving = cache.fetch(rosa, until(abort.signal), run);
    const staying = ask(rosa);
    abort.abort();
    expect(await leaving).toMatchObject({ error: { code: 'cancelled' } });
    finish({ outcome: answer('shared'), ttlMs: 100 });
    expect(await staying).toBe('shared');
  });

  it('do not join a run that everybody has left', async () => {
    const { cache, ask } = cacheWith();
    const abort = new AbortController();
    const { promise, resolve } = Promise.withResolvers<ToolCallResult>();
    const left = cache.fetch(rosa, until(abort.signal), () => promise);
    abort.abort();
    expect(await ask(rosa)).toBe(1);
    resolve(error);
    expect(await left).toBe(error);
    expect(await ask(rosa)).toBe(1);
  });
});

it('never serves an answer past its lifetime, to another scope, or for other arguments', async () => {
  const ask = fc.record({
    scope: fc.constantFrom('rosa', 'walt', undefined),
    tool: fc.constantFrom('t', 'u'),
    a: fc.integer({ min: 0, max: 2 }),
    ttlMs: fc.constantFrom(undefined, 1, 50),
    isPublic: fc.boolean(),
    waitMs: fc.integer({ min: 0, max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(ask, { maxLength: 40 }), async (asks) => {
      const clock = { now: 0 };
      const cache = new ResponseCache({ now: () => clock.now, entriesPerTool: 2, lifetimeOf });
      for (const { scope, tool, a, ttlMs, isPublic, waitMs } of asks) {
        clock.now += waitMs;
        const made = { scope, tool, a, until: clock.now + (ttlMs ?? 0), isPublic, at: clock.now };
        const outcome = await cache.fetch({ scope, tool, args: { a } }, never, async () =>
          ended({ outcome: { result: made }, ttlMs, public: isPublic }),
        );
        const got = (outcome as { result: typeof made }).result;
        expect(got).toMatchObject({ tool, a });
        if (got === made) continue;
        expect(got.until).toBeGreaterThan(clock.now);
        expect(got.isPublic || (scope !== undefined && got.scope === scope)).toBe(true);
      }
    }),
  );
});
