import { closeSync, openSync, readSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import type { ConfigProblem } from './config-problem.ts';
import { readDigest } from './file-digest.ts';
import { pathIn } from './path-in.ts';
import type { ReferenceSources } from './references.ts';

/** A problem with the file that it stands in, as people named that file. */
export interface FileProblem extends ConfigProblem {
  file: string;
}

/** Writes a problem as `file:line: path: message`. One of the whole file has no path. */
export function problemText({ file, line, path, message }: FileProblem): string {
  if (path === wholeFile) return `${file}${line > 0 ? `:${line}` : ''}: ${message}`;
  return `${file}:${line}: ${path}: ${message}`;
}

/** The path of a problem of a whole file; the line of one that can't be read is 0. */
export const wholeFile = '(file)';

/** Largest file that is read, in bytes: a device has no end. */
const maxBytes = 4 * 1024 * 1024;
const tooLarge = 'ERR_TOO_LARGE';

/** The environment for references, and who is told of each file. */
export interface ReadContext {
  env: NodeJS.ProcessEnv;
  /** Called with the absolute path of each file before it is read. */
  onFile: (path: string) => void;
  /** Called with a hash of what was read from it. */
  onRead: (path: string, digest: string) => void;
}

/** The text of a configuration file with what its references may read, or why it cannot be read. */
export type OpenedFile = { text: string; sources: ReferenceSources } | { problem: FileProblem };

/** Reads the text of a configuration file. Its references are relative to its own directory. */
export function openConfigFile(named: string, file: string, context: ReadContext): OpenedFile {
  context.onFile(file);
  try {
    return textOfFile(
      new TextDecoder('utf-8', { fatal: true }).decode(readBytes(file, context)),
      file,
      context,
    );
  } catch (cause) {
    return { problem: { file: named, line: 0, path: wholeFile, message: unreadable(cause) } };
  }
}

/** Returns a text as if it had been read from a file, with what its references may read. */
export function textOfFile(
  text: string,
  file: string,
  context: ReadContext,
): Extract<OpenedFile, { text: string }> {
  return { text, sources: referenceSources(file, context) };
}

/** Returns what the references in a file may read. `check` throws for a path that must not be read. */
export function referenceSources(
  file: string,
  context: ReadContext,
  check?: (path: string) => void,
): ReferenceSources {
  const readFile = (path: string): string => {
    const absolute = pathIn(dirname(file), path);
    context.onFile(absolute);
    check?.(absolute);
    return readBytes(absolute, context).toString('utf8');
  };
  return { env: context.env, readFile };
}

/** The whole of a file, also of a pipe. Throws what the system says, and `ERR_TOO_LARGE`. */
function readBytes(path: string, { onRead }: ReadContext): Buffer {
  const handle = openSync(path, 'r');
  try {
    const parts: Buffer[] = [];
    for (let total = 0; total <= maxBytes; ) {
      const part = Buffer.alloc(64 * 1024);
      const length = readSync(handle, part);
      if (length === 0) {
        const bytes = Buffer.concat(parts);
        onRead(path, readDigest(handle, bytes));
        return bytes;
      }
      parts.push(part.subarray(0, length));
      total += length;
    }
    throw Object.assign(new Error('larger than 4 MiB'), { code: tooLarge });
  } finally {
    closeSync(handle);
  }
}

function unreadable(cause: unknown): string {
  const code = errnoOf(cause) ?? messageOf(cause);
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is no UTF-8 text';
  if (code === tooLarge) return 'is larger than 4 MiB';
  if (code === 'ENOENT') return 'there is no such file';
  return `cannot be read (${code === 'EISDIR' ? 'it is a directory' : code})`;
}
