import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { parseTokenFile, type TokenFile, tokenFileFault, withoutTokens } from '@signalbox/protocol/names';
import { messageOf, SignalboxError } from '@signalbox/protocol/signalbox-error';

/** A file that is longer is none of ours: a token and some addresses are much shorter. */
const maxBytes = 64 * 1024;

/** The reasons why a file cannot be read, by the code of the failure. */
const readFaults: Readonly<Record<string, string>> = {
  EISDIR: 'is a folder',
  EACCES: 'may not be read by this user',
};

/** Reads a token file. Throws `usage` if the file cannot be read or holds no single token. */
export function readTokenFile(file: string): TokenFile {
  let text: string;
  try {
    text = textOf(file);
  } catch (cause) {
    if (withoutTokens(file) !== file)
      throw new SignalboxError('usage', 'a token was given in place of the file that holds it', {
        details: { hint: 'write the token to a file that only you can read, and name that file' },
      });
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const message =
      code === 'ENOENT'
        ? `there is no token file ${file}`
        : `the token file ${file} ${readFaults[code] ?? `cannot be read: ${messageOf(cause)}`}`;
    const hint = `an operator makes one with: signalbox token issue --agent NAME --role ROLE --out ${file}`;
    throw new SignalboxError('usage', message, { cause, details: { hint } });
  }
  const fault = tokenFileFault(text, existsSync);
  if (fault === undefined) return parseTokenFile(text)!;
  throw new SignalboxError('usage', `the token file ${file} ${fault}`, {
    details: {
      hint: `an operator writes it again with: signalbox token issue --agent NAME --role ROLE --out ${file} --force`,
    },
  });
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
