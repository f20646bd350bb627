import { link, mkdir, realpath, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import type { WorkspaceEntry } from '../../agent-clis/injection.ts';
import { withEntry } from '../../agent-clis/workspace-entry.ts';
import { identityOf, isRunning } from '../process/process-start.ts';
import { openWorkspaceFile } from './workspace-file.ts';
import {
  createRecord,
  draftName,
  newId,
  openRecords,
  readRecord,
  recordPathOf,
  replaceRecord,
  restoreWorkspace,
  undoChange,
  type WorkspaceClaim,
  type WorkspaceRecord,
} from './workspace-record.ts';

/**
 * Adds an entry to a file of the workspace, after removing the entry of a crashed run. Throws `SignalboxError` `usage`, and changes
 * nothing, while another run has its entry there, or if the file cannot hold one. `records` is the directory of records. `onClaim` is
 * called with the claim before anything is written, so that it can be undone.
 */
export async function claimWorkspace(
  wanted: WorkspaceEntry,
  records: string,
  onClaim: (claim: WorkspaceClaim) => void,
): Promise<WorkspaceClaim> {
  const entry = { ...wanted, path: await pathInWorkspace(wanted.path) };
  await openRecords(records);
  const recordPath = recordPathOf(records, entry.path);
  await undoCrashedRun(recordPath, entry.path);
  const record = { id: newId(), owner: identityOf(process.pid), path: entry.path };
  const claim = { recordPath, id: record.id };
  onClaim(claim);
  await createClaim(recordPath, record);
  try {
    await putIn(entry, recordPath, record);
  } catch (error) {
    await restoreWorkspace(claim);
    throw error;
  }
  return claim;
}

/** The path to the workspace may contain links; links below it are not followed. */
async function pathInWorkspace(path: string): Promise<string> {
  const directory = dirname(path);
  return join(await realpath(dirname(directory)), basename(directory), basename(path));
}

async function putIn(entry: WorkspaceEntry, recordPath: string, record: WorkspaceRecord): Promise<void> {
  const { path, keys, value } = entry;
  const madeDirectory = await makeDirectory(dirname(path));
  await using file = await openWorkspaceFile(path);
  if (file === undefined) throw new Error(`${dirname(path)} was removed while it was opened`);
  const before = await file.read();
  const written = withEntry(before, entry);
  if (written === undefined) {
    throw new SignalboxError('usage', `${path} holds no JSON object that an MCP server could be added to`, {
      details: { hint: 'correct it, or run with --no-inject' },
    });
  }
  const change = { keys, value, written, madeDirectory, ...(before !== undefined && { before }) };
  await replaceRecord(recordPath, { ...record, change });
  await file.replace(written, draftName(record.id));
}

/** Returns false if a file exists there already. */
async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Undoes the change of a crashed run. Of two runs that find its record, only one succeeds in moving it. */
async function undoCrashedRun(recordPath: string, path: string): Promise<void> {
  const crashed = await readRecord(recordPath);
  if (crashed === undefined) return;
  if (crashed.path !== path || isRunning(crashed.owner)) throw claimedBy(crashed);
  await undoChange(crashed);
  const moved = `${recordPath}.${crashed.id}`;
  await rename(recordPath, moved).catch(() => {});
  const taken = await readRecord(moved);
  if (taken !== undefined && taken.id !== crashed.id) {
    // Another run was quicker, and this is its record already.
    await link(moved, recordPath).catch(() => {});
    await unlink(moved);
    throw claimedBy(taken);
  }
  await unlink(moved).catch(() => {});
}

async function createClaim(recordPath: string, record: WorkspaceRecord): Promise<void> {
  try {
    await createRecord(recordPath, record);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    throw claimedBy((await readRecord(recordPath)) ?? record);
  }
}

/** Makes the error for a file in which another run has its entry. */
function claimedBy({ owner, path }: WorkspaceRecord): SignalboxError {
  return new SignalboxError('usage', `another worker run (process ${owner.pid}) has its entry in ${path}`, {
    details: { hint: 'use one directory per agent, or run with --no-inject' },
  });
}
