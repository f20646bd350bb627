import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupManifest, backupFiles, backupManifestSchema, messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { describeFile, verifyAuditLog, verifyInboxStore, verifyTokenStore } from '@signalbox/store/internal';
import { verifyOutsideTasks } from '@signalbox/store/outside-tasks';
import { verifyJournal } from './verify-journal.ts';

/** The counts of what a backup holds. */
export interface BackupContents {
  /** Messages that wait, and the metadata of settled ones. */
  messages: number;
  dead_letters: number;
  tokens: number;
  agents: number;
  audit_rows: number;
  /** Absent if the backup holds no journal. */
  calls?: number;
  /** Tasks of clients of A2A; absent if the backup has no file of them. */
  a2a_tasks?: number;
}

/** A file of a backup, by name, and what is wrong with it. */
export interface BackupProblem {
  file: string;
  problem: string;
}

/** The result of reading a whole backup. It is good if there are no problems. */
export interface VerifiedBackup {
  problems: BackupProblem[];
  /** Absent if it can't be read. */
  manifest?: BackupManifest;
  /** Absent unless the backup is good. */
  contents?: BackupContents;
}

/** The files that every backup has. */
const required = [backupFiles.messages, backupFiles.tokens, backupFiles.audit];

/** Reads a whole backup: its manifest, the checksum of each file, and every message, token and call. Changes nothing. */
export async function verifyBackup(directory: string): Promise<VerifiedBackup> {
  const read = await readManifest(directory);
  if ('problem' in read) return { problems: [{ file: backupFiles.manifest, problem: read.problem }] };
  const { manifest } = read;
  const problems = await checkFiles(directory, manifest);
  if (problems.length > 0) return { problems, manifest };
  const contents = await readContents(directory, manifest, problems);
  return contents && problems.length === 0 ? { problems, manifest, contents } : { problems, manifest };
}

async function readManifest(directory: string): Promise<{ manifest: BackupManifest } | { problem: string }> {
  let text: string;
  try {
    text = await readFile(join(directory, backupFiles.manifest), 'utf8');
  } catch (thrown) {
    const names = await readdir(directory).catch(() => undefined);
    if (names === undefined && errnoOf(thrown) === 'ENOENT')
      return { problem: `is missing, because there is no directory ${directory}` };
    if (names?.includes(backupFiles.unfinished))
      return { problem: `is missing: the backup in ${directory} was never finished` };
    const what = errnoOf(thrown) === 'ENOENT' ? 'is missing' : `can't be read (${messageOf(thrown)})`;
    return { problem: `${what}, so ${directory} is no backup` };
  }
  try {
    const parsed = backupManifestSchema().safeParse(JSON.parse(text));
    if (parsed.success) return { manifest: parsed.data };
    const { path, message } = parsed.error.issues[0]!;
    return { problem: `is no manifest of this version: '${path.join('.')}': ${message}` };
  } catch (thrown) {
    return { problem: `is no JSON: ${messageOf(thrown)}` };
  }
}

async function checkFiles(directory: string, { files, journal }: BackupManifest): Promise<BackupProblem[]> {
  const problems: BackupProblem[] = [];
  const listed = new Set(files.map(({ name }) => name));
  for (const file of journal ? [...required, backupFiles.journal] : required) {
    if (!listed.has(file)) problems.push({ file, problem: 'is not in the manifest' });
  }
  const known: readonly string[] = [...required, backupFiles.journal, backupFiles.outsideTasks];
  for (const { name, bytes, sha256 } of files) {
    // The name decides which file is read, so it must not lead out of the backup.
    if (!known.includes(name)) problems.push({ file: name, problem: 'is no file of a backup' });
    else {
      const problem = await checkFile(join(directory, name), bytes, sha256);
      if (problem !== undefined) problems.push({ file: name, problem });
    }
  }
  for (const file of await readdir(directory)) {
    if (file === backupFiles.manifest || listed.has(file)) continue;
    // The log of a database beside it would be read with it.
    problems.push({ file, problem: 'is not in the manifest: remove it if it is yours' });
  }
  return problems;
}

async function checkFile(file: string, bytes: number, sha256: string): Promise<string | undefined> {
  try {
    if (!(await lstat(file)).isFile()) return 'is no regular file';
    const found = await describeFile(file);
    if (found.bytes !== bytes) return `has ${found.bytes} bytes, and had ${bytes} when the backup was made`;
    if (found.sha256 !== sha256) return 'has changed since the backup was made: its checksum is another one';
    return undefined;
  } catch (thrown) {
    return `can't be read: ${messageOf(thrown)}`;
  }
}

/** Reads everything in the databases. Data that can't be read, or that is another broker's, becomes a problem. */
async function readContents(
  directory: string,
  { broker_id, journal, files }: BackupManifest,
  problems: BackupProblem[],
): Promise<BackupContents | undefined> {
  const read = async <T>(file: string, verify: (file: string) => T): Promise<Awaited<T> | undefined> => {
    try {
      return await verify(join(directory, file));
    } catch (thrown) {
      problems.push({ file, problem: messageOf(thrown) });
      return undefined;
    }
  };
  const messages = await read(backupFiles.messages, verifyInboxStore);
  const tokens = await read(backupFiles.tokens, verifyTokenStore);
  const audit = await read(backupFiles.audit, verifyAuditLog);
  const calls = journal && (await read(backupFiles.journal, verifyJournal));
  const hasTasks = files.some(({ name }) => name === backupFiles.outsideTasks);
  const tasks = hasTasks ? await read(backupFiles.outsideTasks, verifyOutsideTasks) : undefined;
  for (const [file, found] of [
    [backupFiles.messages, messages],
    [backupFiles.tokens, tokens],
    [backupFiles.audit, audit],
    [backupFiles.journal, calls],
    [backupFiles.outsideTasks, tasks],
  ] as const) {
    for (const problem of found?.problems ?? []) problems.push({ file, problem });
  }
  if (messages && messages.identity !== broker_id)
    problems.push({
      file: backupFiles.messages,
      problem: `is of the broker ${messages.identity ?? 'without an id'}, not ${broker_id}`,
    });
  if (calls && calls.id !== journal.id)
    problems.push({ file: backupFiles.journal, problem: `is the journal ${calls.id}, not ${journal.id}` });
  if (!messages || !tokens || !audit || (journal && !calls)) return undefined;
  return {
    messages: messages.messages,
    dead_letters: messages.deadLetters,
    tokens: tokens.tokens,
    agents: tokens.agents,
    audit_rows: audit.rows,
    ...(calls && { calls: calls.calls }),
    ...(tasks && { a2a_tasks: tasks.tasks }),
  };
}
