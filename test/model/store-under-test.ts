import { type InboxStore, openSqliteInboxStore } from '@signalbox/store';
import { tempDir } from '@signalbox/testing';
import { type ModelledStore, modelCaps, runStoreOps, type StoreOp } from './store-model.ts';

export type Commit = InboxStore['commit'];
export type Room = readonly [memtableMessages: number, segmentMessages: number];

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

/** Resolves if a store with such a room agrees with the model over these operations. */
export async function agrees(
  ops: readonly StoreOp[],
  room: Room,
  spoil?: (commit: Commit) => Commit,
): Promise<void> {
  await using setup = await openStore(room, spoil);
  await runStoreOps(setup, ops);
}
