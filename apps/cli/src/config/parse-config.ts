import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { type ConfigProblem, complaintsOf, pathText } from './problem.ts';
import { type ReferenceSources, resolveReferences } from './references.ts';
import { type ConfigDocument, configSchema } from './schema.ts';
import { structuralProblems } from './structure.ts';

/** Top-level parts of the configuration. A process reads only what it needs, so that it needs no other's secrets. */
export type ConfigPart = keyof ConfigDocument;

export type ParsedConfig = { document: ConfigDocument } | { problems: ConfigProblem[] };

/**
 * Reads a configuration from YAML or JSON text: all of it, or a list of problems with their lines.
 * Parts that are not asked for are neither resolved nor checked, beyond their names.
 */
export function parseConfig(
  text: string,
  sources: ReferenceSources,
  parts: readonly ConfigPart[] = Object.keys(configSchema.shape) as ConfigPart[],
): ParsedConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const lineAt = (offset: number): number => lines.linePos(offset).line || 1;
  const structural = structuralProblems(document);
  if (structural.length > 0) {
    return { problems: structural.map(({ offset, ...problem }) => ({ line: lineAt(offset), ...problem })) };
  }
  if (isMap(document.contents)) dropOtherParts(document, parts);

  const raw: unknown = document.toJS() ?? {};
  const problems: ConfigProblem[] = resolveReferences(document, sources).map(({ offset, path, message }) => ({
    line: lineAt(offset),
    path: pathText(path),
    message,
  }));
  const parsed = configSchema.safeParse(document.toJS() ?? {});
  for (const issue of parsed.error?.issues ?? []) {
    for (const { at, key, message } of complaintsOf(issue, configSchema, (path) => valueAt(raw, path))) {
      const path = key === undefined ? at : [...at, key];
      if (problems.some((known) => known.path === pathText(path))) continue;
      problems.push({ line: lineAt(offsetOf(document, at, key)), path: pathText(path), message });
    }
  }
  if (problems.length > 0) return { problems: problems.sort((a, b) => a.line - b.line) };
  return { document: parsed.data! };
}

function dropOtherParts(document: Document, parts: readonly ConfigPart[]): void {
  for (const name of Object.keys(configSchema.shape) as ConfigPart[]) {
    if (!parts.includes(name)) document.delete(name);
  }
}

/** Where a path stands in the text: its key if `key` is given, else its value, else its nearest ancestor. */
function offsetOf(document: Document, at: readonly PropertyKey[], key?: string): number {
  for (let length = at.length; length >= 0; length--) {
    const node = document.getIn(at.slice(0, length), true);
    if (!isNode(node)) continue;
    const keyNode = length === at.length && key !== undefined ? keyIn(node, key) : undefined;
    return (keyNode ?? node).range?.[0] ?? 0;
  }
  return 0;
}

function keyIn(node: Node, key: string): Node | undefined {
  if (!isMap(node)) return undefined;
  const found = node.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key)?.key;
  return isNode(found) ? found : undefined;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at;
}
