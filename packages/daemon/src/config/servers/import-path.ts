import { isDeepStrictEqual } from 'node:util';

/** A path of `mcpConfig`: a file, and the keys that lead to the object in it that holds the servers; none for the whole file. */
export interface ImportPath {
  file: string;
  pointer: string[];
}

/** Splits `FILE#/KEY/KEY`, where the part after `#` is a JSON pointer (RFC 6901): `~1` stands for a slash in a key, `~0` for a tilde. */
export function parseImportPath(text: string): ImportPath {
  const at = text.indexOf('#/');
  if (at < 0) return { file: text, pointer: [] };
  const keys = text.slice(at + 2).split('/');
  return {
    file: text.slice(0, at),
    pointer: keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')),
  };
}

/** Returns true if two paths name the same part of the same file. */
export function isSamePath(one: ImportPath, other: ImportPath): boolean {
  return one.file === other.file && isDeepStrictEqual(one.pointer, other.pointer);
}

/** Writes a path of `mcpConfig`, as {@link parseImportPath} reads it. */
export function importPathText({ file, pointer }: ImportPath): string {
  const keys = pointer.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1'));
  return keys.length === 0 ? file : `${file}#/${keys.join('/')}`;
}
