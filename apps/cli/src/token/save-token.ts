import { existsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';

/** Throws `usage` if a file exists that must not be replaced. */
export function checkFree(file: string, force: boolean): void {
  if (!force && existsSync(file)) throw exists(file);
}

/** Writes the text of a token file (0600). With `force` an existing file is replaced. Rejects with `usage`. */
export async function saveToken(file: string, text: string, force: boolean): Promise<void> {
  try {
    await (force ? replaceFile : writeNew)(file, text);
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw exists(file);
    throw new SignalboxError('usage', `the token could not be written to ${file}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600, flag: 'wx' });
}

async function replaceFile(file: string, text: string): Promise<void> {
  const beside = `${file}.${process.pid}.new`;
  await writeNew(beside, text);
  try {
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

function exists(file: string): SignalboxError {
  return new SignalboxError('usage', `${file} exists already`, {
    details: { hint: 'choose another file, or replace it with --force' },
  });
}
