import { tokenStoreConformance } from '@signalbox/store/conformance';
import { openPostgresTokenStore } from '@signalbox/store-postgres';
import { describe } from 'vitest';
import { openTestDatabase, serverUrl } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('on PostgreSQL', () => {
  tokenStoreConformance('PostgreSQL', async () => {
    const test = await openTestDatabase();
    let store = openPostgresTokenStore(test.database);
    return {
      get store() {
        return store;
      },
      async reopen() {
        store = openPostgresTokenStore(await test.reopen());
        return store;
      },
      [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
    };
  });
});
