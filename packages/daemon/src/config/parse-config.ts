import { pathText } from '@signalbox/mcp-host/yaml-files';
import { type Document, isMap } from 'yaml';
import { checkDocument, withoutKeys } from './document/check-document.ts';
import type { ConfigProblem } from './document/config-problem.ts';
import { entryLines, readDocument, removeEntries, removeParts, sectionOf } from './document/read-document.ts';
import { configReferences, type ReferenceSources, type ReferredSecrets } from './document/references.ts';
import { type ConfigDocument, configSchema } from './schema/config-schema.ts';
import { isOwnFace, ownFaceProblem } from './servers/own-face.ts';
import { withSseExplained } from './servers/sse.ts';

/** A top-level key of `signalbox.yaml`. A process reads only the parts it needs, and so needs no secrets of the others. */
export type ConfigPart = keyof ConfigDocument;

/** A configuration as it is written, or all problems that were found in it. */
export type ParsedConfig =
  | {
      document: ConfigDocument;
      /** The line of each entry of `mcpServers`. */
      serverLines: ReadonlyMap<string, number>;
      /** The secrets that references put into its texts. */
      secrets: ReferredSecrets;
    }
  | { problems: ConfigProblem[] };

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
  removeParts(document, () => {
    if (isMap(document.contents)) removeOtherParts(document, parts);
    removeEntries(document, 'mcpServers', (name) => !isWanted(name));
  });
  const serverLines = entryLines(read, 'mcpServers');
  const ours = ownFaces(document);
  const { value, problems, secrets } = checkDocument(document, configSchema, {
    sources,
    syntax: configReferences,
    lineAt,
  });
  const found = [
    ...ours.map((name) => ({
      line: serverLines.get(name)!,
      path: pathText(['mcpServers', name]),
      message: `${ownFaceProblem}; take it out`,
    })),
    ...problems.map((problem) => withoutKeys(withSseExplained(problem, document))),
  ];
  return value === undefined || found.length > 0
    ? { problems: found.sort((a, b) => a.line - b.line) }
    : { document: value, serverLines, secrets };
}

/** Returns the names of the entries for Signalbox itself. */
function ownFaces(document: Document): string[] {
  const entries = sectionOf(document, 'mcpServers')?.toJS(document) ?? {};
  return Object.entries<unknown>(entries)
    .filter(([, entry]) => isOwnFace(entry))
    .map(([name]) => name);
}

function removeOtherParts(document: Document, parts: readonly ConfigPart[]): void {
  for (const name of Object.keys(configSchema.shape) as ConfigPart[]) {
    if (!parts.includes(name)) document.delete(name);
  }
}
