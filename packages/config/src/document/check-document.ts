import { pathText, schemaProblems } from '@signalbox/schema-problems';
import { type Document, isMap, isNode, isScalar, type Node } from 'yaml';
import type { z } from 'zod';
import type { ConfigProblem } from './config-problem.ts';
import { type ReferenceSources, type ReferenceSyntax, resolveReferences } from './references.ts';

/** The value that a schema reads from a document, and the problems with it in the order of its lines. */
export interface CheckedDocument<T> {
  value: T | undefined;
  problems: ConfigProblem[];
}

/** Resolves the references of a document, in place, and reads the document by a schema. */
export function checkDocument<T>(
  document: Document,
  schema: z.ZodType<T>,
  context: { sources: ReferenceSources; syntax: ReferenceSyntax; lineAt: (offset: number) => number },
): CheckedDocument<T> {
  const raw: unknown = document.toJS() ?? {};
  const problems: ConfigProblem[] = resolveReferences(document, context.sources, context.syntax).map(
    ({ offset, path, message }) => ({ line: context.lineAt(offset), path: pathText(path), message }),
  );
  const parsed = schema.safeParse(document.toJS() ?? {});
  const found = parsed.error ? schemaProblems(parsed.error, schema, raw) : [];
  for (const { at, key, isBadName, message } of found) {
    const path = pathText(key === undefined ? at : [...at, key]);
    if (problems.some((known) => known.path === path)) continue;
    const line = context.lineAt(offsetOf(document, at, key));
    problems.push({ line, path, message: isBadName ? `not a valid name: ${message}` : message });
  }
  return { value: parsed.data, problems: problems.sort((a, b) => a.line - b.line) };
}

/** Finds the offset of a path in the text: of its key if `key` is given, else of its value, else of its nearest ancestor. */
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
