import { keyOffset, parseYaml } from '@signalbox/mcp-host/yaml-files';
import { type Alias, type Document, isMap, isScalar, type Node, visit, type YAMLMap } from 'yaml';
import type { ConfigProblem } from './config-problem.ts';

/** A text that was read as YAML, with the line of each offset in it. */
export interface ReadDocument {
  document: Document;
  lineAt: (offset: number) => number;
}

/** Reads a text as a YAML document (JSON is one), or lists what keeps it from being one. */
export function readDocument(text: string): ReadDocument | { problems: ConfigProblem[] } {
  const { document, syntaxProblems, placeAt } = parseYaml(text, 'aliases allowed');
  const lineAt = (offset: number): number => placeAt(offset).line;
  if (syntaxProblems.length === 0) return { document, lineAt };
  return {
    problems: syntaxProblems.map(({ offset, message }) => ({
      line: lineAt(offset),
      path: '(syntax)',
      message,
    })),
  };
}

/** Returns a section of a document if it is a mapping. */
export function sectionOf(document: Document, section: string): YAMLMap | undefined {
  const entries = isMap(document.contents) ? document.get(section) : undefined;
  return isMap(entries) ? entries : undefined;
}

/** Removes entries from a section, if the section is a mapping, and returns the names of all entries that it had. */
export function removeEntries(
  document: Document,
  section: string,
  isRemoved: (name: string) => boolean,
): string[] {
  const entries = sectionOf(document, section);
  if (!entries) return [];
  const names = entries.items.map(keyText);
  entries.items = entries.items.filter((_, at) => !isRemoved(names[at]!));
  return names;
}

/** Removes parts of a document. An alias that is left without its anchor becomes the value of that anchor. */
export function removeParts(document: Document, remove: () => void): void {
  const sources = new Map<Alias, Node>();
  let anchors = new Map<string, Node>();
  const note = (_: unknown, node: Node & { anchor?: string }): void => {
    if (node.anchor !== undefined) anchors.set(node.anchor, node);
  };
  visit(document, {
    Alias: (_, alias) => {
      const source = anchors.get(alias.source);
      if (source) sources.set(alias, source);
    },
    Value: note,
  });
  remove();
  anchors = new Map();
  visit(document, {
    Alias: (_, alias) => {
      const source = sources.get(alias);
      return source && anchors.get(alias.source) !== source ? source : undefined;
    },
    Value: note,
  });
}

/** Returns the line of each entry of a section, by name. */
export function entryLines({ document, lineAt }: ReadDocument, section: string): Map<string, number> {
  const items = sectionOf(document, section)?.items ?? [];
  return new Map(items.map((item) => [keyText(item), lineAt(keyOffset(document, [section, keyText(item)]))]));
}

/** Returns the key of an entry as a text. */
export function keyText({ key }: { key: unknown }): string {
  return String(isScalar(key) ? key.value : key);
}
