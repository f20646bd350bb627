import { existsSync, statSync } from 'node:fs';
import { brokerFiles } from '@signalbox/broker/files';
import { orchestratorFiles } from '@signalbox/daemon/data-directory';
import { byteSize } from '../../terminal/byte-size.ts';
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
