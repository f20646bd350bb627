import { pathText } from '@signalbox/mcp-host/yaml-files';
import { type Document, isMap, YAMLMap } from 'yaml';
import { z } from 'zod';
import { readBySchema, resolveDocument, withoutKeys } from '../document/check-document.ts';
import type { ConfigProblem } from '../document/config-problem.ts';
import { entryLines, keyText, removeEntries, sectionOf } from '../document/read-document.ts';
import { readJsonDocument } from '../document/read-json-document.ts';
import type { ReferenceSources, ReferredSecrets } from '../document/references.ts';
import { importedServerSchema, type McpServerEntry, serverNameSchema } from '../schema/server-schema.ts';
import type { ClientFormat, EntryReader, Switches } from './formats/client-format.ts';
import { findFormat } from './formats/find-format.ts';
import { readTomlDocument } from './formats/toml-document.ts';
import {
  applyRules,
  removeUnknownKeys,
  type SkippedEntry,
  translateKeys,
} from './formats/translate-entries.ts';
import type { ImportPath } from './import-path.ts';
import { isOwnFace, ownFaceProblem } from './own-face.ts';
import { withSseExplained } from './sse.ts';

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
  /** The reasons why nothing of the file can be used. */
  problems: ConfigProblem[];
  /** True if the file can be read, and names no servers. */
  lacksServers: boolean;
  warnings: ConfigProblem[];
}

/** The environment and the files that another client's file refers to. */
export interface FileSources extends ReferenceSources {
  switches?: Switches;
}

/**
 * Reads another client's configuration in the format of that client. Entries that are not wanted are not looked at, and entries that can't
 * be used as the client means them are left out. Options that mean nothing to Signalbox are ignored with a warning, and so is the rest of
 * the file.
 */
export function parseMcpFile(
  text: string,
  { file, pointer }: ImportPath,
  sources: FileSources,
  isWanted: (server: string) => boolean,
): ParsedMcpFile {
  const nothing = {
    ...{ names: [], servers: {}, skipped: [], warnings: [], lacksServers: false },
    ...{ lines: new Map<string, number>(), secrets: new Map<string, string[]>() },
  };
  const read = file.endsWith('.toml') ? readTomlDocument(text) : readJsonDocument(text);
  if ('problems' in read) return { ...nothing, problems: read.problems };
  const { document, lineAt } = read;
  const lacking = { ...nothing, lacksServers: isMap(document.contents) };
  const atTop = (message: string) => [{ line: 1, path: '(top level)', message }];
  const held = document.getIn(pointer);
  if (pointer.length > 0 && !isMap(held)) {
    const message = `holds no object under ${pointer.map((key) => `'${key}'`).join(', ')}`;
    return { ...lacking, problems: atTop(message) };
  }
  if (isMap(held)) document.contents = held;
  const root: unknown = document.toJS();
  const format = findFormat(file, root);
  if ('problem' in format)
    return { ...(format.lacksServers ? lacking : nothing), problems: atTop(format.problem) };
  const { section } = format;
  removeOtherSections(document, section);
  const names = removeEntries(document, section, (name) => !isWanted(name));
  const lines = entryLines(read, section);
  const ours = removeOwnFaces(document, section).map((server) => ({
    server,
    line: lines.get(server)!,
    path: pathText([section, server]),
    message: ownFaceProblem,
  }));
  const context = { document, lineAt, sources, format, root };
  const { problems, secrets, skipped, warnings } = translated(context, sectionOf(document, section));
  const bad = problems
    .filter(({ at }) => at.length > 1)
    .map((problem) => ({ server: String(problem.at[1]), ...withoutKeys(problem) }));
  const isBad = new Set(bad.map(({ server }) => server));
  removeEntries(document, section, (name) => isBad.has(name));
  return {
    names,
    servers: schemaOf(section).safeParse(document.toJS()).data?.[section] ?? {},
    lines,
    secrets,
    skipped: [...ours, ...skipped, ...bad].sort((a, b) => a.line - b.line),
    problems: problems.filter(({ at }) => at.length <= 1).map(withoutKeys),
    lacksServers: false,
    warnings,
  };
}

/** Returns the names of the servers in another client's file; `undefined` if its text cannot be read. */
export function namedServers(text: string, path: ImportPath): string[] | undefined {
  const sources = { env: {}, readFile: () => '' };
  const { names, problems } = parseMcpFile(text, path, sources, () => false);
  return names.length === 0 && problems.some((problem) => problem.path !== '(top level)') ? undefined : names;
}

interface FormattedFile {
  document: Document;
  lineAt: (offset: number) => number;
  sources: FileSources;
  format: ClientFormat;
  root: unknown;
}

/** Turns the entries into our terms, in place, with everything that they refer to. */
function translated({ document, lineAt, sources, format, root }: FormattedFile, entries?: YAMLMap) {
  const { section, references: syntax } = format;
  const translation = {
    document,
    entries: entries ?? new YAMLMap(),
    format,
    lineAt,
    skipped: [],
    warnings: [],
  };
  removeUnknownKeys(translation);
  const resolved = resolveDocument(document, { sources, syntax, lineAt });
  const secrets = new Map(resolved.secrets);
  const reader: EntryReader = {
    sources,
    addSecrets: (text, parts) => secrets.set(text, [...new Set([...(secrets.get(text) ?? []), ...parts])]),
  };
  const spelled = translateKeys(translation, reader);
  applyRules(translation, Object(root), sources.switches ?? { content: {} });
  const checked = readBySchema(document, schemaOf(section), { raw: document.toJS(), lineAt });
  const found = checked.problems.map((problem) => {
    const [, server, key, ...rest] = problem.at;
    const own = spelled.get(JSON.stringify([server, key]));
    const at = own === undefined ? problem.at : [section, server!, own, ...rest];
    return { ...withSseExplained(problem, document), at, path: pathText(at) };
  });
  const others = found.filter(({ path }) => !resolved.problems.some((known) => known.path === path));
  const { skipped, warnings } = translation;
  return { problems: [...resolved.problems, ...others], secrets, skipped, warnings };
}

function schemaOf(section: string) {
  return z.object({ [section]: z.record(serverNameSchema, importedServerSchema) });
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
