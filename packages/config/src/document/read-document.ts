import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import type { ConfigProblem } from './config-problem.ts';
import { syntaxProblems } from './syntax-problems.ts';

/** A text that was read as YAML, with the line of each offset in it. */
export interface ReadDocument {
  document: Document;
  lineAt: (offset: number) => number;
}

/** Reads a text as a YAML document (JSON is one), or lists what keeps it from being one. */
export function readDocument(text: string): ReadDocument | { problems: ConfigProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line || 1;
  const problems = syntaxProblems(document);
  if (problems.length === 0) return { document, lineAt };
  return { problems: problems.map(({ offset, ...problem }) => ({ line: lineAt(offset), ...problem })) };
}

/** Removes entries from a section, if the section is a mapping, and returns the names of all entries that it had. */
export function removeEntries(
  document: Document,
  section: string,
  isRemoved: (name: string) => boolean,
): string[] {
  const entries = isMap(document.contents) ? document.get(section) : undefined;
  if (!isMap(entries)) return [];
  const names = entries.items.map(keyText);
  entries.items = entries.items.filter((_, at) => !isRemoved(names[at]!));
  return names;
}

/** Returns the key of an entry as a text. */
export function keyText({ key }: { key: unknown }): string {
  return String(isScalar(key) ? key.value : key);
}
