export { openPostgresJournal, type PostgresJournalOptions } from './open-journal.ts';
