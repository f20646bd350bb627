import { mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errnoOf, SignalboxError } from '@signalbox/protocol';
import type { WorkspaceEntry } from '../../agent-clis/injection.ts';
import { withEntry } from '../../agent-clis/workspace-entry.ts';
import { identityOf, isRunning, type ProcessIdentity } from '../process/process-start.ts';
import {
  recordPathOf,
  replaceFile,
  restoreWorkspace,
  textOf,
  type WorkspaceRecord,
} from './workspace-record.ts';

/**
 * Puts an entry into the user's file, after taking out the entry of a crashed run. Throws `SignalboxError` `usage`, and changes
 * nothing, while another run has its entry there, or if the file is no JSON object. Returns the path of the record that undoes
 * it, with which `onRecord` is called before the record is written.
 */
export async function claimWorkspace(
  wanted: WorkspaceEntry,
  onRecord: (recordPath: string) => void,
): Promise<string> {
  const path = await realpath(wanted.path).catch(() => wanted.path);
  const entry = { ...wanted, path };
  const recordPath = recordPathOf(path);
  const madeDirectory = (await mkdir(dirname(path), { recursive: true })) !== undefined;
  await undoCrashedRun(recordPath);
  const before = await textOf(path);
  const written = withEntry(before, entry);
  if (written === undefined) {
    throw new SignalboxError('usage', `${path} holds no JSON object that an MCP server could be added to`, {
      details: { hint: 'correct it, or run with --no-inject' },
    });
  }
  const owner = identityOf(process.pid);
  const record: WorkspaceRecord = {
    owner,
    entry,
    written,
    madeDirectory,
    ...(before !== undefined && { before }),
  };
  onRecord(recordPath);
  await createRecord(recordPath, record);
  await replaceFile(path, written);
  return recordPath;
}

/** Undoes the entry of a crashed run. Of two runs that find its record, only one succeeds in moving it. */
async function undoCrashedRun(recordPath: string): Promise<void> {
  const text = await textOf(recordPath);
  if (text === undefined) return;
  const owner = ownerIn(text);
  if (owner === undefined || isRunning(owner)) throw claimedBy(owner, recordPath);
  const moved = `${recordPath}.${process.pid}`;
  await rename(recordPath, moved);
  await restoreWorkspace(moved);
}

function ownerIn(text: string): ProcessIdentity | undefined {
  try {
    return (JSON.parse(text) as WorkspaceRecord).owner;
  } catch {
    return undefined;
  }
}

async function createRecord(recordPath: string, record: WorkspaceRecord): Promise<void> {
  try {
    await writeFile(recordPath, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    throw claimedBy(ownerIn(await readFile(recordPath, 'utf8')), recordPath);
  }
}

/** Makes the error for a file in which another run has its entry. */
function claimedBy(owner: ProcessIdentity | undefined, recordPath: string): SignalboxError {
  const who = owner ? `another worker run (process ${owner.pid})` : `the damaged record ${recordPath}`;
  return new SignalboxError('usage', `${who} has its entry in ${recordPath.replace(/\.signalbox$/, '')}`, {
    details: { hint: 'use one directory per agent, or run with --no-inject' },
  });
}
