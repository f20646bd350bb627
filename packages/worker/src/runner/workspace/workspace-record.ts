import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isJsonObject, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';
import { withoutEntry } from '../../agent-clis/workspace-entry.ts';
import type { ProcessIdentity } from '../process/process-start.ts';
import { openWorkspaceFile, removeEmptyDirectory, type WorkspaceFile } from './workspace-file.ts';

/**
 * The facts that are needed to remove an entry from a workspace file, also after a crash of the supervisor that added it. Records are in a
 * directory that belongs to this user alone, because the writer of a record decides which file is changed.
 */
export interface WorkspaceRecord {
  /** Distinguishes this claim from every other claim on the same file. */
  id: string;
  /** The supervisor that made the claim. */
  owner: ProcessIdentity;
  /** The real path of the file. */
  path: string;
  /** The change of the file; absent until it is about to be made. */
  change?: {
    keys: readonly string[];
    value: unknown;
    /** The text of the file before; absent if there was no file. */
    before?: string;
    /** The text with the entry. */
    written: string;
    madeDirectory: boolean;
  };
}

/** A claim on a workspace file: the path of its record, and its id. */
export interface WorkspaceClaim {
  recordPath: string;
  id: string;
}

/**
 * The result for the file. `edited`: it was changed meanwhile, and the changes stay. `left`: it could not be read any more or is not JSON,
 * and was left alone.
 */
export type Restored = 'restored' | 'edited' | 'left';

/** Makes the directory of records, if it is missing. Throws `SignalboxError` `usage` if others may use it. */
export async function openRecords(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const found = await lstat(directory);
  const isOurs = found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (found.isDirectory() && isOurs) return;
  throw new SignalboxError('usage', `${directory} is no directory that only this user can use`, {
    details: { hint: `make it one with: chmod 700 ${directory}` },
  });
}

/** Returns the path of the record for a file with this real path. */
export function recordPathOf(directory: string, path: string): string {
  return join(directory, `${createHash('sha256').update(path).digest('hex')}.json`);
}

/** Reads a record; returns `undefined` if there is none. Throws `SignalboxError` `usage` for a damaged one. */
export async function readRecord(recordPath: string): Promise<WorkspaceRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(recordPath, 'utf8'));
    if (isJsonObject(record) && typeof record.id === 'string') return record as unknown as WorkspaceRecord;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new SignalboxError('usage', `the record ${recordPath} of a change in a workspace is damaged`, {
    details: { hint: "remove it, and take the entry 'signalbox' out of the workspace's file by hand" },
  });
}

/** Makes a record in one step. Throws the system's `EEXIST` if there is one already. */
export async function createRecord(recordPath: string, record: WorkspaceRecord): Promise<void> {
  await writeWhole(recordPath, textOf(record), { isNew: true });
}

/** Replaces a record in one step, and resolves when its content is on disk. */
export async function replaceRecord(recordPath: string, record: WorkspaceRecord): Promise<void> {
  await writeWhole(recordPath, textOf(record));
}

function textOf(record: WorkspaceRecord): string {
  return `${JSON.stringify(record)}\n`;
}

/** Removes the entry of a claim from its file, and removes the record. A record of another claim stays. */
export async function restoreWorkspace({ recordPath, id }: WorkspaceClaim): Promise<Restored> {
  const record = await readRecord(recordPath);
  if (record?.id !== id) return 'left';
  const restored = await undoChange(record);
  await unlink(recordPath);
  return restored;
}

/** Undoes the change of a record. Only the added entry is removed, so undoing a change twice or late does no harm. */
export async function undoChange(record: WorkspaceRecord): Promise<Restored> {
  const { path, change } = record;
  if (change === undefined) return 'restored';
  try {
    await using file = await openWorkspaceFile(path);
    if (file === undefined) return 'edited';
    await file.removeDraft(draftName(record.id));
    return await removeEntry(file, change);
  } catch (error) {
    if (error instanceof SignalboxError) return 'left';
    throw error;
  } finally {
    if (change.madeDirectory) await removeEmptyDirectory(dirname(path));
  }
}

/** Returns an id that nobody can predict. */
export function newId(): string {
  return randomBytes(12).toString('hex');
}

/** Returns the name of the draft that is written first and then replaces a file. */
export function draftName(id: string): string {
  return `.signalbox-${id}`;
}

async function removeEntry(
  file: WorkspaceFile,
  { keys, value, before, written }: NonNullable<WorkspaceRecord['change']>,
): Promise<Restored> {
  const now = await file.read();
  if (now === before) return 'restored';
  if (now === undefined) return 'edited';
  if (now !== written) {
    const text = withoutEntry(now, { keys, value }, before);
    if (text === undefined) return 'left';
    if (text !== now) await file.replace(text, draftName(newId()));
    return 'edited';
  }
  if (before === undefined) await file.remove();
  else await file.replace(before, draftName(newId()));
  return 'restored';
}
