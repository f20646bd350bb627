import type { HoldsFrame } from '@signalbox/protocol';
import type { HoldRecord } from '@signalbox/store';
import { expect, test } from 'vitest';
import { ExpiryClock } from '../core/time/expiry-clock.ts';
import { Holds } from './holds.ts';

const asked = {
  on: 'all' as const,
  name: '',
  reason: 'x',
  by: 'operator',
  tokenId: 't1',
  cancelsRunning: false,
};

const eventOf = () => ({ kind: 'change' as const, at: 1000, code: 'hold_placed', detail: 'x' });

async function load(confirmMs: number): Promise<Holds> {
  const records: HoldRecord[] = [];
  return await Holds.load({
    store: {
      holds: async () => records,
      addHold: async (record) => void records.push(record),
      removeHold: async () => true,
    },
    tokens: { isNeverHeld: () => false, neverHeld: () => new Set() },
    time: new ExpiryClock({
      now: () => 1000,
      monotonic: () => 0,
      reached: undefined,
      onLeap: () => {},
      onHoldEnd: () => {},
    }),
    newId: () => 'h1',
    confirmMs,
  });
}

test('a hold is placed when every orchestrator that is connected acts by it', async () => {
  const holds = await load(60_000);
  const told: HoldsFrame[] = [];
  const follower = { send: (frame: HoldsFrame) => void told.push(frame) };
  const other = { send: () => {} };
  holds.known(follower, holds.follow(follower).version);
  holds.follow(other);
  let isPlaced = false;
  const placed = holds.place(asked, eventOf).then(() => {
    isPlaced = true;
  });
  await expect.poll(() => told.length).toBe(1);
  holds.known(follower, told[0]!.version - 1);
  holds.unfollow(other);
  await new Promise(setImmediate);
  expect(isPlaced).toBe(false);
  holds.known(follower, told[0]!.version);
  await placed;
});

test('a hold is placed although an orchestrator does not answer', async () => {
  const holds = await load(1);
  holds.follow({ send: () => {} });
  await expect(holds.place(asked, eventOf)).resolves.toMatchObject({
    hold: { id: 'h1' },
    isConfirmed: false,
  });
});
