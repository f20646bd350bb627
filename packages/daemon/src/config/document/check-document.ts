import { keyOffset, pathText, schemaProblems, valueOffset } from '@signalbox/mcp-host/yaml-files';
import type { Document } from 'yaml';
import type { z } from 'zod';
import type { ConfigProblem } from './config-problem.ts';
import {
  type ReferenceSources,
  type ReferenceSyntax,
  type ReferredSecrets,
  resolveReferences,
} from './references.ts';

/** A problem with the keys that lead to it. */
export interface LocatedProblem extends ConfigProblem {
  at: readonly PropertyKey[];
}

/** The value that a schema reads from a document, and the problems with it in the order of its lines. */
export interface CheckedDocument<T> {
  value: T | undefined;
  problems: LocatedProblem[];
  /** The secrets that references put into its texts. */
  secrets: ReferredSecrets;
}

/** Resolves the references of a document, in place, and reads the document by a schema. */
export function checkDocument<T>(
  document: Document,
  schema: z.ZodType<T>,
  context: { sources: ReferenceSources; syntax: ReferenceSyntax; lineAt: (offset: number) => number },
): CheckedDocument<T> {
  const raw: unknown = document.toJS() ?? {};
  const resolved = resolveReferences(document, context.sources, context.syntax);
  const problems: LocatedProblem[] = resolved.problems.map(({ offset, path, message }) => ({
    at: path,
    line: context.lineAt(offset),
    path: pathText(path),
    message,
  }));
  const parsed = schema.safeParse(document.toJS() ?? {});
  const found = parsed.error ? schemaProblems(parsed.error, schema, raw) : [];
  for (const { at: around, key, isBadName, message } of found) {
    const at = key === undefined ? around : [...around, key];
    const path = pathText(at);
    if (problems.some((known) => known.path === path)) continue;
    const offset = key === undefined ? valueOffset(document, at) : keyOffset(document, at);
    const line = context.lineAt(offset);
    problems.push({ at, line, path, message: isBadName ? `not a valid name: ${message}` : message });
  }
  return {
    value: parsed.data,
    problems: problems.sort((a, b) => a.line - b.line),
    secrets: resolved.secrets,
  };
}

/** Returns a problem as it is reported, without its keys. */
export function withoutKeys({ line, path, message }: LocatedProblem): ConfigProblem {
  return { line, path, message };
}
