import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DirectRecord } from './direct-record.ts';
import type { ThroughRecord } from './through-record.ts';

/** The observations of one version of a client. */
export interface ClientRecord {
  client: string;
  package: string;
  version: string;
  /** The day of the recording. */
  recorded: string;
  direct: DirectRecord;
  through: ThroughRecord;
}

const folder = fileURLToPath(new URL('../../clients/records', import.meta.url));

/** Reads all records, in the order of their names. */
export async function readRecords(): Promise<ClientRecord[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.json')).toSorted();
  return await Promise.all(files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8'))));
}

export async function writeRecord(record: ClientRecord): Promise<void> {
  await writeFile(join(folder, `${record.client}.json`), `${JSON.stringify(record, undefined, 2)}\n`);
}
