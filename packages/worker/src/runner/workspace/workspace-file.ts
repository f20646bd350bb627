import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** A larger file is not a list of MCP servers. */
const maxBytes = 1024 * 1024;

/**
 * A file of a workspace, whose author is not trusted: no symbolic link is followed, and only a regular file is read. Every problem with it
 * is a `SignalboxError` `usage`.
 */
export interface WorkspaceFile extends AsyncDisposable {
  /** Returns its text; `undefined` if there is no file. */
  read(): Promise<string | undefined>;
  /** Replaces it in one step by way of `draft`, a name beside it. It keeps its mode; a new file is private. */
  replace(text: string, draft: string): Promise<void>;
  remove(): Promise<void>;
  /** Removes a draft that a crash left. */
  removeDraft(draft: string): Promise<void>;
}

/**
 * Opens a file by its real path; `undefined` if its directory is missing. On Linux all access goes through the directory that was opened,
 * so that nobody can replace it meanwhile.
 */
export async function openWorkspaceFile(path: string): Promise<WorkspaceFile | undefined> {
  const directory = await openDirectory(dirname(path));
  if (directory === undefined) return undefined;
  const { handle, base } = directory;
  const at = (name: string): string => join(base, name);
  const file = at(basename(path));
  return {
    read: () => readText(file, path),
    async replace(text, draft) {
      const mode = await lstat(file).then(
        (found) => (found.isFile() ? found.mode & 0o777 : 0o600),
        () => 0o600,
      );
      await writeNew(at(draft), text, mode);
      try {
        await rename(at(draft), file);
      } catch (error) {
        await unlink(at(draft));
        throw error;
      }
      await handle.sync();
    },
    remove: () => unlink(file),
    removeDraft: (draft) => unlink(at(draft)).catch(ignoreMissing),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Removes an empty directory; anything else stays. */
export async function removeEmptyDirectory(path: string): Promise<void> {
  await rmdir(path).catch(() => {});
}

async function openDirectory(path: string): Promise<{ handle: FileHandle; base: string } | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw refused(path, 'is no directory, or a symbolic link', error);
    throw error;
  }
  const base = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  if ((await realpath(base).catch(() => undefined)) === path) return { handle, base };
  await handle.close();
  throw refused(path, 'is reached by a symbolic link');
}

/** Reads a regular file; `undefined` if there is none. If it is a pipe, it is refused without waiting for a writer. */
async function readText(file: string, path: string): Promise<string | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw refused(path, 'is a symbolic link', error);
    if (code === 'ENXIO') throw refused(path, 'is no regular file', error);
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw refused(path, 'is no regular file');
    if (found.size > maxBytes) throw refused(path, 'is larger than 1 MiB');
    // A BOM is kept, if there is one: the file is restored byte for byte.
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(found.size));
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(buffer.subarray(0, bytesRead));
  } catch (error) {
    if (errnoOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw refused(path, 'is no UTF-8 text', error);
    throw error;
  } finally {
    await handle.close();
  }
}

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function refused(path: string, what: string, cause?: unknown): SignalboxError {
  return new SignalboxError('usage', `${path} ${what}, so no MCP server is added to it`, {
    cause,
    details: { hint: 'put a regular file or nothing in its place, or run with --no-inject' },
  });
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error;
}
