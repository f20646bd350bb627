// For our own packages and programs only: anything here may change in any version.

export { type CopiedContent, type CopyTarget, copyIntoPostgres } from './copy/copy-content.ts';
export { type ExaminedDatabase, examineDatabase } from './examine-database.ts';
export { openPostgresDatabase } from './open-database.ts';
