// For our own packages and programs only: anything here may change in any version.

export { type CopiedContent, type CopyTarget, copyIntoPostgres } from './copy/copy-content.ts';
export type { Transaction } from './database/attempt.ts';
export { BrokerIncarnation } from './database/broker-incarnation.ts';
export { tlsProblem } from './database/client.ts';
export { type MarkOptions, PostgresDatabase } from './database/database.ts';
export type { Statement } from './database/statement.ts';
export { declareDatabaseRestored } from './declare-restored.ts';
export { type ExaminedDatabase, examineDatabase } from './examine-database.ts';
export { openPostgresDatabase } from './open-database.ts';
export { prepareTables } from './schema.ts';
export { journalSchemaOf } from './settings/names.ts';
