import { tokenStoreConformance } from '@signalbox/store/conformance';
import { describe } from 'vitest';
import { openTestStores, serverUrl } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('on PostgreSQL', () => {
  tokenStoreConformance('PostgreSQL', async () => {
    const test = await openTestStores();
    return {
      get store() {
        return test.stores.tokens;
      },
      reopen: async () => (await test.reopen()).tokens,
      [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
    };
  });
});
