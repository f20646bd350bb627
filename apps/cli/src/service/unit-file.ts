import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { writeWholeNow } from '@signalbox/serving/whole-files';

const mark =
  '# Written by: signalbox service install. Put changes into a drop-in file: systemctl edit signalbox\n';
const sum = /^# sha256 of the lines below: ([0-9a-f]{64})\n/;

/** Adds a mark to the text of a unit, by which a later run knows the unit as ours and unchanged. */
export function markedUnit(text: string): string {
  return `${mark}# sha256 of the lines below: ${hashOf(text)}\n${text}`;
}

/** Writes a unit, which may replace one of ours only. Returns whether the file is new, another than before, or the same. */
export function writeUnit(file: string, text: string): 'new' | 'replaced' | 'same' {
  const before = readOwnUnit(file);
  const marked = markedUnit(text);
  if (before === marked) return 'same';
  mkdirSync(dirname(file), { recursive: true });
  writeWholeNow(file, marked, { mode: 0o644 });
  return before === undefined ? 'new' : 'replaced';
}

/** Reads a unit of ours; `undefined` if there is no file. Throws `usage` if somebody else wrote or changed it. */
export function readOwnUnit(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  if (!text.startsWith(mark)) throw foreign(file, 'was not written by signalbox service install');
  const rest = text.slice(mark.length);
  const found = sum.exec(rest);
  if (found && hashOf(rest.slice(found[0].length)) === found[1]) return text;
  throw foreign(file, 'was changed after signalbox service install wrote it');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function foreign(file: string, what: string): SignalboxError {
  return new SignalboxError('usage', `${file} ${what}, so it is left as it is`, {
    details: {
      hint: 'move it away; changes of your own belong into a drop-in file: systemctl edit signalbox',
    },
  });
}
