import { existsSync } from 'node:fs';
import { messageOf, SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWhole } from '@signalbox/serving/whole-files';

/** Throws `usage` if a file exists that must not be replaced. */
export function checkFree(file: string, force: boolean): void {
  if (!force && existsSync(file)) throw exists(file);
}

/** Writes the text of a token file (0600). With `force` an existing file is replaced. Rejects with `usage`. */
export async function saveToken(file: string, text: string, force: boolean): Promise<void> {
  try {
    await writeWhole(file, text, { isNew: !force });
  } catch (cause) {
    if (errnoOf(cause) === 'EEXIST') throw exists(file);
    throw new SignalboxError('usage', `the token could not be written to ${file}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function exists(file: string): SignalboxError {
  return new SignalboxError('usage', `${file} exists already`, {
    details: { hint: 'choose another file, or replace it with --force' },
  });
}
