import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** A file of the page. */
export interface PageFile {
  content: Buffer;
  type: string;
  /** True if its name changes with its content. */
  isLasting: boolean;
}

/** The files of the page by their path below `/ui/`; that of the page itself is empty. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Reads the files of the page that was built into a directory. Files of other types are left out. */
export function readPageFiles(directory: string): PageFiles {
  const files = new Map<string, PageFile>();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(directory.length).replaceAll('\\', '/').replace(/^\/+/, '');
    const isPage = name === 'index.html';
    files.set(isPage ? '' : name, {
      content: readFileSync(path),
      type,
      isLasting: name.startsWith('assets/'),
    });
  }
  return files;
}
