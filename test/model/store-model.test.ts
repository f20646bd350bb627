import { expect, it } from 'vitest';
import { counterexample, modelSettings } from './model-settings.ts';
import { storeOps } from './store-model.ts';
import { agrees, type Commit, type Room } from './store-under-test.ts';

// All messages in the memtable, each one in a segment at once, and on the way between, with segments of one message and of many.
const rooms: [...Room][] = [
  [1000, 64],
  [0, 1],
  [4, 2],
];

it.each(rooms)(
  'the SQLite store agrees with the model over random sequences of commits, restarts and time, with %d messages in the memtable and %d in a segment',
  async (...room) => {
    expect(await counterexample(storeOps, (ops) => agrees(ops, room), modelSettings(8))).toBeUndefined();
  },
);

const spoils: [string, () => (commit: Commit) => Commit][] = [
  [
    'forgets every third settlement',
    () => {
      let settled = 0;
      return (commit) => (batch) =>
        commit({ ...batch, settlements: batch.settlements.filter(() => ++settled % 3 !== 0) });
    },
  ],
  [
    'stores one message twice',
    () => {
      let stored = 0;
      return (commit) => async (batch) => {
        const results = await commit(batch);
        const copies = batch.messages.filter((_, i) => results[i]?.result === 'stored' && ++stored % 4 === 0);
        await commit({
          settlements: [],
          attempts: [],
          messages: copies.map((message) => ({ ...message, id: `${message.id}2` })),
        });
        return results;
      };
    },
  ],
  [
    'acks what another inbox holds',
    () => (commit) => (batch) =>
      commit({
        ...batch,
        settlements: batch.settlements.flatMap((settlement) =>
          ['a', 'b', settlement.inbox].map((inbox) => ({ ...settlement, inbox })),
        ),
      }),
  ],
  [
    'calls the next message of a sender a duplicate',
    () => (commit) => async (batch) => {
      const results = await commit(batch);
      return results.map((result, i) => (i === 2 ? { result: 'duplicate' } : result));
    },
  ],
];

it.each(spoils)('the model finds a store that %s', async (_name, spoil) => {
  // Not a time limit: it would abandon a run in its middle, and leave that run's files behind.
  const settings = { ...modelSettings(50), endOnFailure: true };
  const report = await counterexample(storeOps, (ops) => agrees(ops, [4, 2], spoil()), settings);
  expect(report).toMatch(/Counterexample: .*"op":\s*"commit"/s);
});
