import { chmod, readFile, rename, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf } from '@signalbox/protocol';
import type { WorkspaceEntry } from '../../agent-clis/injection.ts';
import { withoutEntry } from '../../agent-clis/workspace-entry.ts';
import type { ProcessIdentity } from '../process/process-start.ts';

/** The facts that are needed to take an entry out of the user's file again, also after a crash of the supervisor that put it in. */
export interface WorkspaceRecord {
  /** The supervisor that put it in. */
  owner: ProcessIdentity;
  entry: WorkspaceEntry;
  /** The text of the file before; absent if there was no file. */
  before?: string;
  /** The text with the entry. */
  written: string;
  madeDirectory: boolean;
}

/** How the file was left. `edited`: it was changed meanwhile, and the changes stay. `unreadable`: it is no JSON any more, and was left alone. */
export type Restored = 'restored' | 'edited' | 'unreadable';

/** Returns the path of the record for a user's file. */
export function recordPathOf(file: string): string {
  return `${file}.signalbox`;
}

/** Takes our entry out of the file that the record names, and removes the record. */
export async function restoreWorkspace(recordPath: string): Promise<Restored> {
  const record = JSON.parse(await readFile(recordPath, 'utf8')) as WorkspaceRecord;
  const restored = await removeEntry(record);
  await unlink(recordPath);
  if (record.madeDirectory) await rmdir(dirname(record.entry.path)).catch(() => {});
  return restored;
}

async function removeEntry({ entry, before, written }: WorkspaceRecord): Promise<Restored> {
  const now = await textOf(entry.path);
  if (now === before) return 'restored';
  if (now === undefined) return 'edited';
  if (now !== written) {
    const text = withoutEntry(now, entry, before);
    if (text === undefined) return 'unreadable';
    await replaceFile(entry.path, text);
    return 'edited';
  }
  if (before === undefined) await unlink(entry.path);
  else await replaceFile(entry.path, before);
  return 'restored';
}

/** Reads a text file; returns `undefined` if there is none. */
export async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces a file in one step, so that a reader sees the old text or the new one. An existing file keeps its mode; a new one is private. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, text, { mode });
  await chmod(draft, mode);
  await rename(draft, path);
}
