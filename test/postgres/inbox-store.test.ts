import { inboxStoreConformance } from '@signalbox/store/conformance';
import { describe } from 'vitest';
import { openPostgresStore, serverUrl } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('on PostgreSQL', () => {
  inboxStoreConformance('PostgreSQL', (caps, keepBodies) =>
    openPostgresStore({ keepBodies, ...(caps && { caps }) }),
  );
});
