import { type InboxStore, openSqliteInboxStore } from '@signalbox/store';
import { tempDir } from '@signalbox/testing';
import { expect, it } from 'vitest';
import { runsAll } from '../support/runs-all.ts';
import { counterexample, modelSettings } from './model-settings.ts';
import { type ModelledStore, modelCaps, runStoreOps, type StoreOp, storeOps } from './store-model.ts';

type Commit = InboxStore['commit'];
type Room = readonly [memtableMessages: number, segmentMessages: number];

/**
 * A store on a fresh file with a memtable and segments of these sizes. `spoil` gets each commit of the store, across restarts,
 * and may do worse.
 */
async function openStore(
  [memtableMessages, segmentMessages]: Room,
  spoil?: (commit: Commit) => Commit,
): Promise<ModelledStore> {
  const directory = await tempDir();
  const state = { now: 1_700_000_000_000 };
  const open = (): Promise<InboxStore> =>
    openSqliteInboxStore({
      file: `${directory.path}/messages.db`,
      durability: 'process',
      caps: modelCaps,
      now: () => state.now,
      dedupeWindowMs: 1000,
      retentionMs: 3000,
      memtableMessages,
      segmentMessages,
    });
  let store = await open();
  const commit = spoil?.((batch) => store.commit(batch));
  const opened = (): InboxStore =>
    commit
      ? new Proxy(store, {
          get: (target, name) => {
            if (name === 'commit') return commit;
            const value: unknown = Reflect.get(target, name, target);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        })
      : store;
  return {
    get store() {
      return opened();
    },
    get now() {
      return state.now;
    },
    set now(now) {
      state.now = now;
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await open();
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function agrees(
  ops: readonly StoreOp[],
  room: Room,
  spoil?: (commit: Commit) => Commit,
): Promise<void> {
  await using setup = await openStore(room, spoil);
  await runStoreOps(setup, ops);
}

// All messages in the memtable, each one in a segment at once, and on the way between, with segments of one message and of many.
const rooms: [...Room][] = [
  [1000, 64],
  [0, 1],
  [4, 2],
];
if (runsAll) rooms.push([0, 64], [4, 64]);

it.each(rooms)(
  'the SQLite store agrees with the model over random sequences of commits, restarts and time, with %d messages in the memtable and %d in a segment',
  async (...room) => {
    expect(await counterexample(storeOps, (ops) => agrees(ops, room), modelSettings(40))).toBeUndefined();
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
  const settings = { ...modelSettings(100), endOnFailure: true };
  const report = await counterexample(storeOps, (ops) => agrees(ops, [4, 2], spoil()), settings);
  expect(report).toMatch(/Counterexample: .*"op":\s*"commit"/s);
});
