export { openPostgresAuditLog, type PostgresAuditLogOptions } from './audit-log.ts';
export type { PostgresDatabase, PostgresDatabaseOptions } from './database/database.ts';
export { openPostgresInboxStore, type PostgresInboxStoreOptions } from './inbox-store/inbox-store.ts';
export { openPostgresDatabase } from './open-database.ts';
export { openPostgresStores, type PostgresStores, type PostgresStoresOptions } from './open-stores.ts';
export { openPostgresTokenStore } from './token-store.ts';
