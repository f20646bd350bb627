export { installedPostgres, postgresPackage } from './binaries.ts';
export { dropSchema } from './drop-schema.ts';
export { type PostgresOptions, type PostgresServer, startPostgres } from './temporary-server.ts';
