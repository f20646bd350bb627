import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { parseTokenFile, type TokenFile, tokenFileFault, tokenFileProblem } from '@signalbox/protocol/names';
import { SignalboxError } from '@signalbox/protocol/signalbox-error';

/** A file that is longer is none of ours: a token and some addresses are much shorter. */
const maxBytes = 64 * 1024;

/**
 * Reads a token file. Throws `usage` if the file cannot be read or holds no single token; `whose` are the options with which an operator
 * issues such a token.
 */
export function readTokenFile(file: string, whose?: string): TokenFile {
  let text: string;
  try {
    text = textOf(file);
  } catch (failure) {
    const { message, hint } = tokenFileProblem(file, { failure }, whose);
    throw new SignalboxError('usage', message, { cause: failure, details: { hint } });
  }
  const fault = tokenFileFault(text, existsSync);
  if (fault === undefined) return parseTokenFile(text)!;
  const { message, hint } = tokenFileProblem(file, { text: fault }, whose);
  throw new SignalboxError('usage', message, { details: { hint } });
}

/** Reads as much of a file as a token file can have, so that no other file or device is read to its end. */
function textOf(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(maxBytes);
    let length = 0;
    for (let read = 1; read > 0 && length < maxBytes; length += read)
      read = readSync(descriptor, bytes, length, maxBytes - length, null);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads the text of a token file. Throws `usage` for any other text, and never repeats it; `where` names the place of the text. */
export function tokenInText(text: string, where: string): TokenFile {
  // A shell takes the line end away that a file has.
  const fault = tokenFileFault(`${text}\n`, existsSync);
  if (fault === undefined) return parseTokenFile(text)!;
  throw new SignalboxError('usage', `${where} ${fault}`, {
    details: {
      hint: 'a token is one line, as signalbox token issue --out FILE writes it; a second line may hold the address of the broker',
    },
  });
}
