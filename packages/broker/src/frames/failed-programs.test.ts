import { expect, test } from 'vitest';
import { FailedPrograms, type FailedProgramsDeps } from './failed-programs.ts';

/** Two brokers that tell each other everything at once. */
function twoBrokers() {
  let now = 1000;
  const handlers: Map<string, (about: never, from: string) => unknown>[] = [new Map(), new Map()];
  const broker = (own: number): FailedPrograms => {
    const talk: FailedProgramsDeps['talk'] = {
      on: (kind, handler) => void handlers[own]!.set(kind, handler),
      note: async (kind, about) => void handlers[1 - own]!.get(kind)?.(about as never, ''),
    };
    return new FailedPrograms({ talk, now: () => now, onError: (error) => expect.fail(String(error)) });
  };
  return { here: broker(0), there: broker(1), advance: (ms: number) => (now += ms) };
}

test('All brokers know of a failure until a later connection of the agent works, at any of them.', () => {
  const { here, there, advance } = twoBrokers();
  here.failed('rosa', 'writer', 'ended with exit code 3');
  const rosa = { agent: 'rosa', role: 'writer', failed_at: 1000, reason: 'ended with exit code 3' };
  expect([here.list(), there.list()]).toEqual([[rosa], [rosa]]);
  // A connection of the process that failed may still speak.
  there.works('rosa', 999);
  expect(here.list()).toEqual([rosa]);
  advance(10);
  there.works('rosa', 1010);
  expect([here.list(), there.list()]).toEqual([[], []]);
});

test('A failure is forgotten after a day, and beyond 1,000 agents the oldest one is.', () => {
  const { here, advance } = twoBrokers();
  for (let i = 0; i <= 1000; i++) here.failed(`w-${i}`, 'writer', 'failed');
  expect(here.list().map(({ agent }) => agent)).toHaveLength(1000);
  expect(here.list()[0]).toMatchObject({ agent: 'w-1' });
  advance(24 * 3_600_000);
  expect(here.list()).toEqual([]);
});
