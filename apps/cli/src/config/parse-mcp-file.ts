import { type Document, isMap, isNode, isScalar, type Pair, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { foreignReferences } from './foreign-references.ts';
import { blankComments } from './json-comments.ts';
import { checkDocument } from './located-problems.ts';
import { dropServers, readDocument } from './parse-config.ts';
import { type ConfigProblem, pathText } from './problem.ts';
import type { ReferenceSources } from './references.ts';
import { type McpServerEntry, mcpServerSchema, serverNameSchema } from './server-schema.ts';

/** The servers of another client's file. `names` are all it has, wanted or not. */
export interface ParsedMcpFile {
  names: string[];
  servers: Record<string, McpServerEntry>;
  problems: ConfigProblem[];
  warnings: ConfigProblem[];
}

const sections = ['mcpServers', 'servers'];
const knownKeys = Object.keys(mcpServerSchema.shape);
/** What other clients call our `url` and our `http`. */
const otherKeys: Readonly<Record<string, string>> = { serverUrl: 'url', httpUrl: 'url' };
const otherTransports: Readonly<Record<string, string>> = { streamableHttp: 'http', streamable_http: 'http' };

/**
 * Reads another client's configuration (`mcpServers`, or `servers` as VS Code writes it). Entries that are not
 * wanted are not looked at. Keys that are not ours are ignored and told of in `warnings`; everything else in the file is
 * another's business.
 */
export function parseMcpFile(
  text: string,
  sources: ReferenceSources,
  isWanted: (server: string) => boolean,
): ParsedMcpFile {
  const nothing = { names: [], servers: {}, warnings: [] };
  const read = readDocument(blankComments(text));
  if ('problems' in read) return { ...nothing, problems: read.problems };
  const { document, lineAt } = read;
  const present = sections.filter((name) => isMap(document.contents) && document.has(name));
  const section = present[0];
  if (section === undefined || present.length > 1) {
    return { ...nothing, problems: [{ line: 1, path: '(top level)', message: sectionProblem(present) }] };
  }
  dropOthers(document, section);
  const names = dropServers(document, section, (name) => !isWanted(name));
  const entries = document.get(section);
  const warnings = isMap(entries) ? adapt(entries, section, lineAt) : [];
  const schema = z.object({ [section]: z.record(serverNameSchema, mcpServerSchema) });
  const { value, problems } = checkDocument(document, schema, {
    sources,
    syntax: foreignReferences,
    lineAt,
  });
  return { names, servers: value?.[section] ?? {}, problems, warnings };
}

function sectionProblem(present: readonly string[]): string {
  return present.length === 0
    ? "holds no 'mcpServers', nor 'servers' as VS Code writes it"
    : "holds both 'mcpServers' and 'servers'; keep one of the two";
}

function dropOthers(document: Document, section: string): void {
  if (!isMap(document.contents)) return;
  for (const name of document.contents.items.map(keyText)) if (name !== section) document.delete(name);
}

/** Puts other clients' words into ours, and takes out what we have no word for. */
function adapt(entries: YAMLMap, section: string, lineAt: (offset: number) => number): ConfigProblem[] {
  const warnings: ConfigProblem[] = [];
  for (const { key: name, value: entry } of entries.items) {
    if (!isMap(entry)) continue;
    for (const pair of entry.items) rename(pair);
    const ignored = entry.items.filter((pair) => !isOurs(pair));
    for (const pair of ignored) {
      const path = pathText([section, String(isScalar(name) ? name.value : name), keyText(pair)]);
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

/** Another client's `auth` has no `type`, and its own meaning. */
function isOurs(pair: Pair): boolean {
  const name = keyText(pair);
  return name === 'auth' ? isMap(pair.value) && pair.value.has('type') : knownKeys.includes(name);
}

function keyText({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}
