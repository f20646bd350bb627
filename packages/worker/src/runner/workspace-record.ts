import { chmod, readFile, rename, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { WorkspaceEntry } from '../clients/injection.ts';
import { takenOut } from '../clients/workspace-entry.ts';
import type { ProcessIdentity } from './process-start.ts';

/** What is needed to take an entry out of the user's file again, also for somebody who finds this after a crash. */
export interface WorkspaceRecord {
  /** The supervisor that put it in. */
  owner: ProcessIdentity;
  entry: WorkspaceEntry;
  /** The file's text before; absent if there was none. */
  before?: string;
  /** The text we wrote. */
  written: string;
  madeDirectory: boolean;
}

/** `edited`: somebody changed the file meanwhile, and the changes stay. `unreadable`: it is no JSON any more, left alone. */
export type Restored = 'restored' | 'edited' | 'unreadable';

export function recordPathOf(file: string): string {
  return `${file}.signalbox`;
}

/** Takes our entry out of the file that the record is about, and forgets the record. */
export async function restoreWorkspace(recordPath: string): Promise<Restored> {
  const record = JSON.parse(await readFile(recordPath, 'utf8')) as WorkspaceRecord;
  const restored = await takeOut(record);
  await unlink(recordPath);
  if (record.madeDirectory) await rmdir(dirname(record.entry.path)).catch(() => {});
  return restored;
}

async function takeOut({ entry, before, written }: WorkspaceRecord): Promise<Restored> {
  const now = await textOf(entry.path);
  if (now === before) return 'restored';
  if (now === undefined) return 'edited';
  if (now !== written) {
    const text = takenOut(now, entry, before);
    if (text === undefined) return 'unreadable';
    await replaceFile(entry.path, text);
    return 'edited';
  }
  if (before === undefined) await unlink(entry.path);
  else await replaceFile(entry.path, before);
  return 'restored';
}

/** `undefined` if there is no such file. */
export async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whoever reads it meanwhile sees the old text or the new one. An existing file keeps its mode; a new one is private. */
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
