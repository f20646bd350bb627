import { expect, it } from 'vitest';
import type { HostEvent } from '../host-api.ts';
import type { Verdict } from './circuit-breaker.ts';
import { Circuits } from './circuits.ts';

function circuits() {
  const clock = { now: 0 };
  const events: HostEvent[] = [];
  const all = new Circuits(
    { circuitThreshold: 2, circuitResetMs: 100 },
    { now: () => clock.now, log: (event) => events.push(event) },
  );
  /** A call to that instance with this verdict; false if it was not let through. */
  const make = (instance: string, verdict: Verdict, meanwhile = () => {}) =>
    all.through({ name: 's', instance }, async (breaker, onCircuit) => {
      const permit = breaker.enter();
      if (!('era' in permit)) return false;
      meanwhile();
      onCircuit(breaker.leave(permit, verdict));
      return true;
    });
  return { all, clock, events, make };
}

it('keeps a circuit for each instance, and tells of the worst', async () => {
  const { all, clock, make, events } = circuits();
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  await make('worker:rosa', 'failure');
  await make('worker:rosa', 'failure');
  await make('worker:walt', 'failure');
  expect([await make('worker:rosa', 'success'), await make('worker:walt', 'success')]).toEqual([false, true]);
  expect(all.worst()).toEqual({ circuit: 'open', consecutiveFailures: 2 });
  clock.now = 100;
  expect(all.worst()).toEqual({ circuit: 'half_open', consecutiveFailures: 2 });
  await make('worker:rosa', 'success');
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  const where = { server: 's', instance: 'worker:rosa' };
  expect(events).toEqual([
    { event: 'circuit_opened', ...where, failures: 2, resetMs: 100 },
    { event: 'circuit_closed', ...where },
  ]);
});

it('takes no word from a call that began before a reset', async () => {
  const { all, make, events } = circuits();
  await make('', 'failure');
  await make('', 'failure', () => all.reset());
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 0 });
  expect(await make('', 'failure')).toBe(true);
  expect(events).toEqual([]);
});

it('forgets the instance it has not heard of for the longest time when there are too many', async () => {
  const { all, make } = circuits();
  await make('first', 'failure');
  await make('first', 'failure');
  for (let n = 1; n < 256; n++) await make(`worker:${n}`, 'failure');
  expect(all.worst().circuit).toBe('open');
  await make('worker:256', 'failure');
  expect(all.worst()).toEqual({ circuit: 'closed', consecutiveFailures: 1 });
});
