export { startPostgres } from '@signalbox/store-postgres/temporary-server';
