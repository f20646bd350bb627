import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { brokerFiles } from '@signalbox/broker/files';
import { orchestratorFiles } from '@signalbox/daemon/data-directory';
import { byteSize } from '../../terminal/byte-size.ts';
import { shellWords } from '../../terminal/shell-words.ts';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

/** The most bytes of databases that are read here. Reading more would take longer than a person waits. */
const readBytes = 512 * 1024 * 1024;

const backupHint =
  'put the data directory aside and restore a backup: signalbox restore; the guide on backup says what a start accepts';

/** Reads the databases of a data directory on which nothing runs. */
export async function databaseFindings(directory: string): Promise<Finding[]> {
  const files = databasesOf(directory);
  if (files.length === 0) return [ok('there are no databases yet')];
  const bytes = files.reduce((total, file) => total + statSync(file).size, 0);
  if (bytes > readBytes) {
    return [
      warning(
        `the databases hold ${byteSize(bytes)} and were not read`,
        'signalbox backup DIR copies them, and signalbox backup verify DIR reads everything',
      ),
    ];
  }
  // It loads the stores, which takes its time.
  const { verifyStoppedData } = await import('@signalbox/daemon/backup');
  try {
    const problems = await verifyStoppedData(directory);
    if (problems.length > 0) return problems.map((problem) => failed(problem, backupHint));
    return [ok(`the databases are whole: ${byteSize(bytes)} read`)];
  } catch (error) {
    return [failureFinding(error, 'signalbox status says what runs there')];
  }
}

/** Lists the databases that are there. */
export function databasesOf(directory: string): string[] {
  const { messages, tokens, audit } = brokerFiles(directory);
  const { journal } = orchestratorFiles(directory);
  return [messages, tokens, audit, journal].filter((file) => existsSync(file));
}

/** A smaller file, or log, is not worth a person's time. */
const largeBytes = 64 * 1024 * 1024;

/** Warns of databases that are mostly free room and that a running broker or orchestrator does not make smaller. */
export function sizeFindings(files: readonly string[]): Finding[] {
  return files.flatMap((file) => [...fixedSizeFindings(file), ...logFindings(file)]);
}

/** https://sqlite.org/fileformat2.html#the_database_header */
function fixedSizeFindings(file: string): Finding[] {
  const header = Buffer.alloc(100);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, header);
  } finally {
    closeSync(handle);
  }
  const { size } = statSync(file);
  const [pages, freePages, canShrink] = [28, 36, 52].map((at) => header.readUInt32BE(at)) as [
    number,
    number,
    number,
  ];
  if (size < largeBytes || freePages < pages / 2 || canShrink > 0) return [];
  return [
    warning(
      `${Math.floor((100 * freePages) / pages)} % of the ${byteSize(size)} of ${file} are free, and the file never gets smaller`,
      `stop what runs there, then: sqlite3 ${shellWords(file)} 'PRAGMA auto_vacuum = INCREMENTAL; VACUUM'`,
    ),
  ];
}

function logFindings(file: string): Finding[] {
  const log = `${file}-wal`;
  const bytes = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  // SQLite cuts it to this size when nobody reads the database.
  if (bytes <= largeBytes) return [];
  return [
    warning(
      `${log} has grown to ${byteSize(bytes)}: some program has been reading the database for long`,
      `end that program, for example a shell of sqlite3: fuser ${shellWords(file)} names it`,
    ),
  ];
}
