import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CircuitBreaker, type Permit, type Verdict } from './circuit-breaker.ts';

const threshold = 3;
const resetMs = 1_000;

function breakerAt(start = 0, failures = threshold) {
  const clock = { now: start };
  const breaker = new CircuitBreaker({ threshold: failures, resetMs, now: () => clock.now });
  const enter = () => {
    const permit = breaker.enter();
    if (!('era' in permit)) throw new Error(`refused for ${permit.retryAfterMs} ms`);
    return permit;
  };
  const make = (...verdicts: Verdict[]) => verdicts.map((verdict) => breaker.leave(enter(), verdict));
  return { clock, breaker, enter, make };
}

function opened() {
  const t = breakerAt();
  t.make('failure', 'failure', 'failure');
  return t;
}

describe('a circuit breaker', () => {
  it('opens with the last of so many failures in a row', () => {
    const { breaker, make } = breakerAt();
    expect(make('failure', 'failure')).toEqual([undefined, undefined]);
    expect(breaker.state).toBe('closed');
    expect(make('failure')).toEqual(['opened']);
    expect(breaker).toMatchObject({ state: 'open', consecutiveFailures: 3 });
    expect(breaker.enter()).toEqual({ retryAfterMs: resetMs, failures: 3, cause: undefined });
  });

  it('counts anew after a success, and passes over what says nothing', () => {
    const { breaker, make } = breakerAt();
    make('failure', 'failure', 'success', 'failure', 'neutral', 'failure', 'neutral');
    expect(breaker).toMatchObject({ state: 'closed', consecutiveFailures: 2 });
    expect(make('failure')).toEqual(['opened']);
  });

  it('lets one probe at a time through when its time is over, and closes with its success', () => {
    const { breaker, clock, enter } = opened();
    clock.now += resetMs - 1;
    expect(breaker.enter()).toMatchObject({ retryAfterMs: 1, failures: 3 });
    clock.now += 1;
    expect(breaker.state).toBe('half_open');
    const probe = enter();
    expect(probe.isProbe).toBe(true);
    expect(breaker.enter()).toMatchObject({ retryAfterMs: 0, failures: 3 });
    expect(breaker.leave(probe, 'success')).toBe('closed');
    expect(breaker).toMatchObject({ state: 'closed', consecutiveFailures: 0, isPristine: true });
    expect(enter().isProbe).toBe(false);
  });

  it('opens again with a failed probe, and lets the next one through after one that said nothing', () => {
    const { breaker, clock, enter, make } = opened();
    clock.now += resetMs;
    expect(make('neutral')).toEqual([undefined]);
    expect(breaker.state).toBe('half_open');
    expect(breaker.leave(enter(), 'failure', 'still down')).toBe('opened');
    expect(breaker.enter()).toMatchObject({ retryAfterMs: resetMs, failures: 4, cause: 'still down' });
  });

  it('gives no say to calls from before it opened', () => {
    const { breaker, clock, enter, make } = breakerAt();
    const [late, lateToo] = [enter(), enter()];
    make('failure', 'failure', 'failure');
    clock.now += resetMs - 1;
    expect(breaker.leave(late, 'success')).toBeUndefined();
    expect(breaker.leave(lateToo, 'failure')).toBeUndefined();
    expect(breaker).toMatchObject({ state: 'open', consecutiveFailures: 3 });
    clock.now += 1;
    expect(enter().isProbe).toBe(true);
  });

  it('is not pristine while a call is under way or a failure is remembered', () => {
    const { breaker, enter, make } = breakerAt();
    const permit = enter();
    expect(breaker.isPristine).toBe(false);
    breaker.leave(permit, 'success');
    expect(breaker.isPristine).toBe(true);
    make('failure');
    expect(breaker.isPristine).toBe(false);
  });

  const verdict = fc.constantFrom<Verdict>('success', 'failure', 'neutral');
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ at: fc.constant('enter' as const) }) },
    fc.record({ at: fc.constant('leave' as const), which: fc.nat(20), verdict }),
    fc.record({ at: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * resetMs }) }),
  );

  it('never lets two probes through, nor a call while it is open, for any sequence of events', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { breaker, clock } = breakerAt(0, 1);
        const under: Permit[] = [];
        for (const move of steps) {
          if (move.at === 'wait') clock.now += move.ms;
          else if (move.at === 'leave') {
            const [permit] = under.splice(move.which % Math.max(1, under.length), 1);
            if (permit) breaker.leave(permit, move.verdict);
          } else {
            const { state } = breaker;
            const permit = breaker.enter();
            if (!('era' in permit)) continue;
            expect(state).not.toBe('open');
            expect(permit.isProbe).toBe(state === 'half_open');
            under.push(permit);
          }
          expect(under.filter(({ isProbe }) => isProbe).length).toBeLessThan(2);
        }
      }),
    );
  });

  it('can always be closed again: a success after its time is up does it', () => {
    fc.assert(
      fc.property(fc.array(verdict, { maxLength: 30 }), (verdicts) => {
        const { breaker, clock } = breakerAt();
        for (const one of verdicts) {
          const permit = breaker.enter();
          if ('era' in permit) breaker.leave(permit, one);
        }
        clock.now += resetMs;
        const permit = breaker.enter();
        if ('era' in permit) breaker.leave(permit, 'success');
        expect(breaker.state).toBe('closed');
      }),
    );
  });
});
