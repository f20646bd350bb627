import { describe, expect, it } from 'vitest';
import { counterexample, modelSettings } from '../model/model-settings.ts';
import { modelCaps, runStoreOps, storeOps } from '../model/store-model.ts';
import { openPostgresStore, serverUrl } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('The PostgreSQL store', () => {
  it('agrees with the model over random sequences of commits, restarts and time', async () => {
    const report = await counterexample(
      storeOps,
      async (ops) => {
        await using setup = await openPostgresStore({
          caps: modelCaps,
          dedupeWindowMs: 1000,
          retentionMs: 3000,
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
      modelSettings(30),
    );
    expect(report).toBeUndefined();
  });
});
