import { type Document, isMap, isNode, isScalar, type Node } from 'yaml';
import type { z } from 'zod';
import { type ConfigProblem, complaintsOf, pathText } from './problem.ts';
import { type ReferenceSources, type ReferenceSyntax, resolveReferences } from './references.ts';

/** What a document says by a schema, and what is wrong with it, in the order of its lines. */
export interface CheckedDocument<T> {
  value: T | undefined;
  problems: ConfigProblem[];
}

/** Resolves the references of a document, in place, and reads it by a schema. */
export function checkDocument<T>(
  document: Document,
  schema: z.ZodType<T>,
  around: { sources: ReferenceSources; syntax: ReferenceSyntax; lineAt: (offset: number) => number },
): CheckedDocument<T> {
  const raw: unknown = document.toJS() ?? {};
  const problems: ConfigProblem[] = resolveReferences(document, around.sources, around.syntax).map(
    ({ offset, path, message }) => ({ line: around.lineAt(offset), path: pathText(path), message }),
  );
  const parsed = schema.safeParse(document.toJS() ?? {});
  for (const issue of parsed.error?.issues ?? []) {
    for (const { at, key, message } of complaintsOf(issue, schema, (path) => valueAt(raw, path))) {
      const path = pathText(key === undefined ? at : [...at, key]);
      if (problems.some((known) => known.path === path)) continue;
      problems.push({ line: around.lineAt(offsetOf(document, at, key)), path, message });
    }
  }
  return { value: parsed.data, problems: problems.sort((a, b) => a.line - b.line) };
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
