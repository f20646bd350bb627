export { openPostgresDatabase } from './open-database.ts';
