import { pathText } from '@signalbox/mcp-host/yaml-files';
import { type Document, isMap, isNode, isScalar, type Pair, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { checkDocument, withoutKeys } from '../document/check-document.ts';
import type { ConfigProblem } from '../document/config-problem.ts';
import { entryLines, keyText, readDocument, removeEntries, sectionOf } from '../document/read-document.ts';
import type { ReferenceSources, ReferredSecrets } from '../document/references.ts';
import {
  importedServerSchema,
  type McpServerEntry,
  mcpServerSchema,
  serverNameSchema,
} from '../schema/server-schema.ts';
import { blankComments } from './json-comments.ts';
import { mcpFileReferences } from './mcp-file-references.ts';
import { isOwnFace, ownFaceProblem } from './own-face.ts';
import { withSseExplained } from './sse.ts';

/** A reason why an entry of another client's file is left out. */
export interface SkippedEntry extends ConfigProblem {
  server: string;
}

/** The servers in another client's file. `names` lists all of them, wanted or not, also those that are left out. */
export interface ParsedMcpFile {
  names: string[];
  servers: Record<string, McpServerEntry>;
  /** The line of each entry that is wanted. */
  lines: ReadonlyMap<string, number>;
  /** The secrets that references put into its texts. */
  secrets: ReferredSecrets;
  /** The entries that can't be used. They keep nothing else from being used. */
  skipped: SkippedEntry[];
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

const sections = ['mcpServers', 'servers'];
const knownKeys = Object.keys(mcpServerSchema.shape);
/** The names of other clients for our `url`, and for our transports. */
const otherKeys: Readonly<Record<string, string>> = { serverUrl: 'url', httpUrl: 'url' };
const otherTransports: Readonly<Record<string, string>> = {
  streamableHttp: 'http',
  streamable_http: 'http',
  local: 'stdio',
};

/**
 * Reads another client's configuration (`mcpServers`, or `servers` as VS Code writes it). Entries that are not wanted are
 * not looked at, and entries that can't be used are left out. Keys that Signalbox does not know are ignored with a warning, and
 * everything else in the file is ignored. `pointer` are the keys that lead to the object with the servers.
 */
export function parseMcpFile(
  text: string,
  sources: ReferenceSources,
  isWanted: (server: string) => boolean,
  pointer: readonly string[] = [],
): ParsedMcpFile {
  const nothing = {
    ...{ names: [], servers: {}, skipped: [], warnings: [] },
    ...{ lines: new Map<string, number>(), secrets: new Map<string, string[]>() },
  };
  const read = readDocument(blankComments(text));
  if ('problems' in read) return { ...nothing, problems: read.problems };
  const { document, lineAt } = read;
  const held = document.getIn(pointer);
  if (pointer.length > 0 && !isMap(held)) {
    const message = `holds no object under ${pointer.map((key) => `'${key}'`).join(', ')}`;
    return { ...nothing, problems: [{ line: 1, path: '(top level)', message }] };
  }
  if (isMap(held)) document.contents = held;
  const present = sections.filter((name) => isMap(document.contents) && document.has(name));
  const section = present[0];
  if (section === undefined || present.length > 1) {
    return { ...nothing, problems: [{ line: 1, path: '(top level)', message: sectionProblem(present) }] };
  }
  removeOtherSections(document, section);
  const names = removeEntries(document, section, (name) => !isWanted(name));
  const lines = entryLines(read, section);
  const ours = removeOwnFaces(document, section).map((server) => ({
    server,
    line: lines.get(server)!,
    path: pathText([section, server]),
    message: ownFaceProblem,
  }));
  const entries = sectionOf(document, section);
  const warnings = entries ? adaptEntries(entries, section, lineAt) : [];
  const schema = z.object({ [section]: z.record(serverNameSchema, importedServerSchema) });
  const { problems, secrets } = checkDocument(document, schema, {
    sources,
    syntax: mcpFileReferences,
    lineAt,
  });
  const found = problems.map((problem) => withSseExplained(problem, document));
  const bad = found
    .filter(({ at }) => at.length > 1)
    .map((problem) => ({ server: String(problem.at[1]), ...withoutKeys(problem) }));
  const isBad = new Set(bad.map(({ server }) => server));
  removeEntries(document, section, (name) => isBad.has(name));
  return {
    names,
    servers: schema.safeParse(document.toJS()).data?.[section] ?? {},
    lines,
    secrets,
    skipped: [...ours, ...bad].sort((a, b) => a.line - b.line),
    problems: found.filter(({ at }) => at.length <= 1).map(withoutKeys),
    warnings,
  };
}

function sectionProblem(present: readonly string[]): string {
  return present.length === 0
    ? "holds no 'mcpServers', nor 'servers' as VS Code writes it"
    : "holds both 'mcpServers' and 'servers'; keep one of the two";
}

function removeOtherSections(document: Document, section: string): void {
  if (!isMap(document.contents)) return;
  for (const name of document.contents.items.map(keyText)) if (name !== section) document.delete(name);
}

/** Removes the entries for Signalbox itself, before anything of them is resolved, and returns their names. */
function removeOwnFaces(document: Document, section: string): string[] {
  const entries = Object.entries<unknown>(Object(document.toJS())[section] ?? {});
  const names = entries.filter(([, entry]) => isOwnFace(entry)).map(([name]) => name);
  removeEntries(document, section, (name) => names.includes(name));
  return names;
}

/** Renames other clients' keys to ours, and removes those that Signalbox does not know, with a warning each. */
function adaptEntries(
  entries: YAMLMap,
  section: string,
  lineAt: (offset: number) => number,
): ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  for (const item of entries.items) {
    const entry = item.value;
    if (!isMap(entry)) continue;
    for (const pair of entry.items) rename(pair);
    const ignored = entry.items.filter((pair) => !isOurs(pair));
    for (const pair of ignored) {
      const path = pathText([section, keyText(item), keyText(pair)]);
      const offset = isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
      warnings.push({ line: lineAt(offset), path, message: 'ignored: Signalbox has no such option' });
    }
    entry.items = entry.items.filter(isOurs);
  }
  return warnings;
}

function rename({ key, value }: Pair): void {
  if (!isScalar(key)) return;
  key.value = otherKeys[String(key.value)] ?? key.value;
  if (key.value === 'type' && isScalar(value))
    value.value = otherTransports[String(value.value)] ?? value.value;
}

/** Another client's `auth` has no `type` and a meaning of its own, and so is not ours. */
function isOurs(pair: Pair): boolean {
  const name = keyText(pair);
  return name === 'auth' ? isMap(pair.value) && pair.value.has('type') : knownKeys.includes(name);
}
