export { installedPostgres, postgresPackage } from './binaries.ts';
export { dropSchema, type PostgresOptions, type PostgresServer, startPostgres } from './temporary-server.ts';
