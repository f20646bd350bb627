import { fstatSync, readFileSync, statSync } from 'node:fs';

/** An import statement would read every export of `node:crypto`, and one of them loads all of Web Crypto. */
const { createHash } = process.getBuiltinModule('node:crypto');

/** Returns a hash of what a file holds now; an empty text if it can't be read or is no file: a pipe can be read only once. */
export function fileDigest(path: string): string {
  try {
    return statSync(path).isFile() ? digestOf(readFileSync(path)) : '';
  } catch {
    return '';
  }
}

/** Returns the same as {@link fileDigest} for bytes that were read from an open file. */
export function readDigest(handle: number, bytes: Buffer): string {
  return fstatSync(handle).isFile() ? digestOf(bytes) : '';
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
