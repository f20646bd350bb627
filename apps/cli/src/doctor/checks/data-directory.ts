import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { writableByOthers } from '@signalbox/daemon/config/internal';
import { checkDataDirectory } from '@signalbox/daemon/data-directory';
import { messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { shellWords } from '../../terminal/shell-words.ts';
import { failureFinding } from '../failure-finding.ts';
import { type Finding, failed, ok, warning } from '../finding.ts';

const othersMay = 0o077;

/** Judges the owner and the rights of a data directory that may not exist yet, and whether it is one. */
export async function dataDirectoryFindings(directory: string, uid: number | undefined): Promise<Finding[]> {
  let stats: Stats | undefined;
  try {
    stats = statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    return [failed(`${directory} can't be looked at: ${messageOf(error)}`, elsewhere)];
  }
  if (!stats) return [absentFinding(directory)];
  try {
    await checkDataDirectory(directory);
  } catch (error) {
    return [failureFinding(error, elsewhere)];
  }
  const found = [
    ownerFinding(directory, stats, uid),
    obstacleFinding(directory),
    openFinding(directory, stats),
  ].flatMap((finding) => finding ?? []);
  return found.length > 0 ? found : [ok(`${directory} belongs to this user, and to nobody else`)];
}

/** Returns true if this process may make files in the directory. */
export function isWritable(directory: string): boolean {
  return accessProblem(directory) === undefined;
}

/** Returns the nearest directory that exists: the directory itself, or one above it. */
export function existingParent(directory: string): string {
  const parent = dirname(directory);
  if (parent === directory || statSync(directory, { throwIfNoEntry: false })) return directory;
  return existingParent(parent);
}

const elsewhere = 'name another directory with broker.data or --data';

function absentFinding(directory: string): Finding {
  const parent = existingParent(directory);
  const problem = accessProblem(parent);
  if (problem === undefined) return ok(`${directory} is not there yet; the first start makes it`);
  return failed(`${directory} can't be made: nothing may be written into ${parent} (${problem})`, elsewhere);
}

function ownerFinding(
  directory: string,
  { uid: owner }: Stats,
  uid: number | undefined,
): Finding | undefined {
  if (uid === undefined || owner === uid) return undefined;
  const text = `${directory} belongs to the user with the number ${owner}, and this is the user ${uid}`;
  const fix = `run signalbox as the user ${owner}, or give the directory to this one: chown -R ${uid} ${shellWords(directory)}`;
  // Root may do everything there, and leaves files that their owner can't open.
  return uid === 0 ? warning(text, fix) : failed(text, fix);
}

function obstacleFinding(directory: string): Finding | undefined {
  const problem = accessProblem(directory);
  if (problem === undefined) return undefined;
  return failed(
    `nothing may be written into ${directory} (${problem})`,
    problem === 'EROFS'
      ? `mount its file system for writing, or ${elsewhere}`
      : `give this user the right to write there: chmod u+rwx ${shellWords(directory)}, or chattr -i if it is immutable`,
  );
}

function openFinding(directory: string, { mode }: Stats): Finding | undefined {
  if ((mode & othersMay) !== 0) {
    return warning(
      `other users may look into ${directory}, which holds messages and tokens`,
      `chmod 700 ${shellWords(directory)}   (the next start of the broker does it, too)`,
    );
  }
  const reason = writableByOthers(directory);
  if (reason === undefined) return undefined;
  return warning(
    `another user could put another directory in the place of ${directory}: ${reason}`,
    elsewhere,
  );
}

function accessProblem(directory: string): string | undefined {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return errnoOf(error) ?? messageOf(error);
  }
}
