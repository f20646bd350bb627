export { openPostgresInboxStore, type PostgresInboxStoreOptions } from './inbox-store/inbox-store.ts';
