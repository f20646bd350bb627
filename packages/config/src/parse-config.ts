import { type Document, isMap } from 'yaml';
import { checkDocument } from './document/check-document.ts';
import type { ConfigProblem } from './document/config-problem.ts';
import { readDocument, removeEntries } from './document/read-document.ts';
import { configReferences, type ReferenceSources } from './document/references.ts';
import { type ConfigDocument, configSchema } from './schema/config-schema.ts';

/** A top-level key of `signalbox.yaml`. A process reads only the parts it needs, and so needs no secrets of the others. */
export type ConfigPart = keyof ConfigDocument;

/** A configuration as it is written, or all problems that were found in it. */
export type ParsedConfig = { document: ConfigDocument } | { problems: ConfigProblem[] };

/**
 * Reads a configuration from YAML or JSON text: all of it, or a list of problems with their lines.
 * Parts and servers that are not asked for are neither resolved nor checked, beyond their names.
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
  if (isMap(document.contents)) removeOtherParts(document, parts);
  removeEntries(document, 'mcpServers', (name) => !isWanted(name));
  const { value, problems } = checkDocument(document, configSchema, {
    sources,
    syntax: configReferences,
    lineAt,
  });
  return value === undefined || problems.length > 0 ? { problems } : { document: value };
}

function removeOtherParts(document: Document, parts: readonly ConfigPart[]): void {
  for (const name of Object.keys(configSchema.shape) as ConfigPart[]) {
    if (!parts.includes(name)) document.delete(name);
  }
}
