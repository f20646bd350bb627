import {
  openSqliteAuditLog,
  openSqliteInboxStore,
  openSqliteTokenStore,
  type SqliteInboxStoreOptions,
} from '@signalbox/store';
import {
  auditLogConformance,
  inboxStoreConformance,
  type StoreUnderTest,
  tokenStoreConformance,
} from '@signalbox/store/conformance';
import { describe, expect, it } from 'vitest';
import { counterexample, modelSettings } from '../model/model-settings.ts';
import { modelCaps, runStoreOps, storeOps } from '../model/store-model.ts';
import { openCopied } from '../support/postgres/copied-store.ts';
import { serverUrl } from '../support/postgres/test-store.ts';
import { hour, startedAt } from '../support/store/test-store.ts';

async function openCopiedStore(
  options: Pick<
    SqliteInboxStoreOptions,
    'caps' | 'keepBodies' | 'dedupeWindowMs' | 'retentionMs' | 'segmentMessages'
  > & {
    memtableMessages: number;
  },
): Promise<StoreUnderTest> {
  let clock = startedAt;
  const now = () => clock;
  const common = { ...options, now, monotonic: now };
  const copied = await openCopied({
    onFiles: ({ messages: file }) => openSqliteInboxStore({ ...common, durability: 'process', file }),
    inDatabase: ({ inboxes }) => inboxes,
    options: common,
  });
  return {
    get store() {
      return copied.opened;
    },
    reopen: () => copied.reopen(),
    advance: (ms) => {
      clock += ms;
    },
    now,
    // Copied messages are remembered as long as those that are settled next.
    forgottenAfterMs: 25 * hour,
    memoryRoom: options.memtableMessages,
    [Symbol.asyncDispose]: () => copied[Symbol.asyncDispose](),
  };
}

describe.skipIf(serverUrl === undefined)('copied from SQLite to PostgreSQL at the first restart', () => {
  inboxStoreConformance('a store with all messages in segments', (caps, keepBodies) =>
    openCopiedStore({ memtableMessages: 0, keepBodies, ...(caps && { caps }) }),
  );
  tokenStoreConformance('a token store', async () => {
    const copied = await openCopied({
      onFiles: ({ tokens: file }) => openSqliteTokenStore({ file }),
      inDatabase: ({ tokens }) => tokens,
    });
    return Object.defineProperty({ ...copied, store: copied.opened }, 'store', { get: () => copied.opened });
  });
  auditLogConformance('an audit log', async ({ maxBytes, ...options } = {}) => {
    const copied = await openCopied({
      onFiles: ({ audit: file }) => openSqliteAuditLog({ ...options, ...(maxBytes && { maxBytes }), file }),
      inDatabase: ({ audit }) => audit,
      options: { ...options, ...(maxBytes && { auditBytes: maxBytes }) },
    });
    return Object.defineProperty({ ...copied, log: copied.opened }, 'log', { get: () => copied.opened });
  });

  it.each([
    [1000, 64],
    [0, 64],
    [4, 2],
  ])(
    'a store agrees with the model, with room for %i messages and %i in a segment',
    async (memtableMessages, segmentMessages) => {
      const report = await counterexample(
        storeOps,
        async (ops) => {
          await using setup = await openCopiedStore({
            caps: modelCaps,
            dedupeWindowMs: 1000,
            retentionMs: 3000,
            memtableMessages,
            segmentMessages,
          });
          await runStoreOps(
            {
              get store() {
                return setup.store;
              },
              get now() {
                return setup.now();
              },
              set now(now) {
                setup.advance(now - setup.now());
              },
              reopen: async () => {
                await setup.reopen();
              },
              [Symbol.asyncDispose]: async () => {},
            },
            ops,
          );
        },
        modelSettings(15),
      );
      expect(report).toBeUndefined();
    },
  );
});
