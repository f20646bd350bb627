import { expect, it } from 'vitest';
import type { HostEvent } from '../../host-event.ts';
import type { Verdict } from './circuit-breaker.ts';
import { CircuitBreakers } from './circuit-breakers.ts';

function circuits() {
  const clock = { now: 0 };
  const events: HostEvent[] = [];
  const all = new CircuitBreakers(
    { circuitThreshold: 2, circuitResetMs: 100 },
    { now: () => clock.now, log: (event) => events.push(event) },
  );
  /** A call to that instance with this verdict; false if it was not let through. */
  const make = (instance: string, verdict: Verdict, meanwhile = () => {}) => {
    const breaker = all.breakerOf(instance);
    const permit = breaker.enter();
    const isLetThrough = 'era' in permit;
    if (isLetThrough) {
      meanwhile();
      all.report({ name: 's', instance }, breaker, breaker.leave(permit, verdict));
    }
    return isLetThrough;
  };
  return { all, clock, events, make };
}

it('keeps a circuit for each instance, and tells of the worst', () => {
  const { all, clock, make, events } = circuits();
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  make('worker:rosa', 'failure');
  make('worker:rosa', 'failure');
  make('worker:walt', 'failure');
  expect([make('worker:rosa', 'success'), make('worker:walt', 'success')]).toEqual([false, true]);
  expect(all.worst()).toEqual({ circuit: 'open', consecutiveFailures: 2 });
  clock.now = 100;
  expect(all.worst()).toEqual({ circuit: 'half_open', consecutiveFailures: 2 });
  make('worker:rosa', 'success');
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  const where = { server: 's', instance: 'worker:rosa' };
  expect(events).toEqual([
    { event: 'circuit_opened', ...where, failures: 2, resetMs: 100 },
    { event: 'circuit_closed', ...where },
  ]);
});

it('takes no word from a call that began before a reset', () => {
  const { all, make, events } = circuits();
  make('', 'failure');
  make('', 'failure', () => all.reset());
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  expect(make('', 'failure')).toBe(true);
  expect(events).toEqual([]);
});

it('forgets the instance it has not heard of for the longest time when there are too many', () => {
  const { all, make } = circuits();
  make('first', 'failure');
  make('first', 'failure');
  for (let n = 1; n < 256; n++) make(`worker:${n}`, 'failure');
  expect(all.worst().circuit).toBe('open');
  make('worker:256', 'failure');
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 1 });
});
