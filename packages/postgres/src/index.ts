export { openPostgresStores, type PostgresStores, type PostgresStoresOptions } from './open-stores.ts';
