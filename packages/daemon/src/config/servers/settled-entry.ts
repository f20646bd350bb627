import { pathIn } from '../document/path-in.ts';
import type { McpServerEntry } from '../schema/server-schema.ts';
import { transportOf } from '../schema/transport.ts';

/** Returns an entry whose paths are absolute; those that it has are relative to `directory`, where its command works by default. */
export function settledEntry(entry: McpServerEntry, directory: string): McpServerEntry {
  const settled = withSettledPaths(entry, directory);
  if (transportOf(entry) === 'http') return settled;
  const { command = '', cwd } = entry;
  // A command of the file's own folder; where `cwd` is set, the system reads it from there.
  const isRelative = cwd === undefined && /^(~|\.\.?)[\\/]/.test(command);
  return {
    ...settled,
    ...(isRelative && { command: pathIn(directory, command) }),
    cwd: settled.cwd ?? directory,
  };
}

/**
 * Returns an imported entry with what a refinement in `directory` settles. Variables, headers and limits are merged by name; every
 * other key of the refinement replaces that of the entry.
 */
export function refinedEntry(
  entry: McpServerEntry,
  refinement: McpServerEntry,
  directory: string,
): McpServerEntry {
  const own = withSettledPaths(refinement, directory);
  const merged = <K extends 'env' | 'headers' | 'limits'>(key: K) =>
    own[key] && entry[key] && { [key]: { ...entry[key], ...own[key] } };
  return { ...entry, ...own, ...merged('env'), ...merged('headers'), ...merged('limits') };
}

function withSettledPaths(entry: McpServerEntry, directory: string): McpServerEntry {
  const { cwd, card } = entry;
  const isFolderOfHost = cwd?.startsWith(dataReference) ?? true;
  const isUrl = card === undefined || /^https?:\/\//i.test(card);
  return {
    ...entry,
    ...(!isFolderOfHost && { cwd: pathIn(directory, cwd!) }),
    ...(!isUrl && { card: pathIn(directory, card) }),
  };
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
const dataReference = '${data}';
