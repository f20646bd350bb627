import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { checkDocument } from './located-problems.ts';
import type { ConfigProblem } from './problem.ts';
import { ownReferences, type ReferenceSources } from './references.ts';
import { type ConfigDocument, configSchema } from './schema.ts';
import { structuralProblems } from './structure.ts';

/** Top-level parts of the configuration. A process reads only what it needs, so that it needs no other's secrets. */
export type ConfigPart = keyof ConfigDocument;

export type ParsedConfig = { document: ConfigDocument } | { problems: ConfigProblem[] };

/** A text as a YAML document (JSON is one), or what keeps it from being one. */
export function readDocument(
  text: string,
): { document: Document; lineAt: (offset: number) => number } | { problems: ConfigProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line || 1;
  const structural = structuralProblems(document);
  if (structural.length === 0) return { document, lineAt };
  return { problems: structural.map(({ offset, ...problem }) => ({ line: lineAt(offset), ...problem })) };
}

/**
 * Reads a configuration from YAML or JSON text: all of it, or a list of problems with their lines.
 * Parts that are not asked for are neither resolved nor checked, beyond their names; nor are servers that are not wanted.
 */
export function parseConfig(
  text: string,
  sources: ReferenceSources,
  parts: readonly ConfigPart[] = Object.keys(configSchema.shape) as ConfigPart[],
  isWanted: (server: string) => boolean = () => true,
): ParsedConfig {
  const read = readDocument(text);
  if ('problems' in read) return read;
  const { document, lineAt } = read;
  if (isMap(document.contents)) dropOtherParts(document, parts);
  dropServers(document, 'mcpServers', (name) => !isWanted(name));
  const { value, problems } = checkDocument(document, configSchema, {
    sources,
    syntax: ownReferences,
    lineAt,
  });
  return value === undefined || problems.length > 0 ? { problems } : { document: value };
}

function dropOtherParts(document: Document, parts: readonly ConfigPart[]): void {
  for (const name of Object.keys(configSchema.shape) as ConfigPart[]) {
    if (!parts.includes(name)) document.delete(name);
  }
}

/** Takes entries out of a section, where it is one, and gives the names of all it had. */
export function dropServers(
  document: Document,
  section: string,
  isDropped: (name: string) => boolean,
): string[] {
  const entries = isMap(document.contents) ? document.get(section) : undefined;
  if (!isMap(entries)) return [];
  const names = entries.items.map(({ key }) => String(isScalar(key) ? key.value : key));
  entries.items = entries.items.filter((_, at) => !isDropped(names[at]!));
  return names;
}
