import type { TailEvent } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { isRoutine } from './live.ts';

test('Traffic that goes well is routine; what failed, waits for a person or is for this person is not.', () => {
  const stored = (to: string) => ({ what: 'stored', at: 0, message: { to } }) as TailEvent;
  const settled = (outcome: string) => ({ what: 'settled', at: 0, outcome }) as TailEvent;
  const call = (state: string, outcome?: string) =>
    ({ what: 'call', at: 0, call: { state, outcome } }) as TailEvent;
  const routine = [stored('rosa'), settled('acked'), call('running'), call('finished', 'ok')];
  const others = [
    stored('ann'),
    stored('ann#desk'),
    settled('dead'),
    call('awaiting_approval'),
    call('held'),
    call('finished', 'outcome_unknown'),
    { what: 'hold_placed', at: 0 } as TailEvent,
  ];
  expect(routine.map((event) => isRoutine(event, 'ann'))).toEqual(routine.map(() => true));
  expect(others.map((event) => isRoutine(event, 'ann'))).toEqual(others.map(() => false));
});
