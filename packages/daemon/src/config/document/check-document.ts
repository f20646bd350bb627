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

/** The sources of references, how they are written, and the lines of a document. */
export interface DocumentContext {
  sources: ReferenceSources;
  syntax: ReferenceSyntax;
  lineAt: (offset: number) => number;
}

/** Resolves the references of a document, in place, and reads the document by a schema. */
export function checkDocument<T>(
  document: Document,
  schema: z.ZodType<T>,
  context: DocumentContext,
): CheckedDocument<T> {
  const raw: unknown = document.toJS() ?? {};
  const resolved = resolveDocument(document, context);
  const { value, problems } = readBySchema(document, schema, { raw, lineAt: context.lineAt });
  const others = problems.filter(({ path }) => !resolved.problems.some((known) => known.path === path));
  return {
    value,
    problems: [...resolved.problems, ...others].sort((a, b) => a.line - b.line),
    secrets: resolved.secrets,
  };
}

/** Resolves the references of a document, in place. */
export function resolveDocument(
  document: Document,
  { sources, syntax, lineAt }: DocumentContext,
): Omit<CheckedDocument<never>, 'value'> {
  const { problems, secrets } = resolveReferences(document, sources, syntax);
  return {
    problems: problems.map(({ offset, path, message }) => ({
      at: path,
      line: lineAt(offset),
      path: pathText(path),
      message,
    })),
    secrets,
  };
}

/** Reads a document by a schema. The nearest names in messages are those of `raw`, which holds no resolved value. */
export function readBySchema<T>(
  document: Document,
  schema: z.ZodType<T>,
  { raw, lineAt }: { raw: unknown; lineAt: (offset: number) => number },
): Omit<CheckedDocument<T>, 'secrets'> {
  const parsed = schema.safeParse(document.toJS() ?? {});
  const found = parsed.error ? schemaProblems(parsed.error, schema, raw) : [];
  const problems = found.map(({ at: around, key, isBadName, message }) => {
    const at = key === undefined ? around : [...around, key];
    const offset = key === undefined ? valueOffset(document, at) : keyOffset(document, at);
    return {
      at,
      line: lineAt(offset),
      path: pathText(at),
      message: isBadName ? `not a valid name: ${message}` : message,
    };
  });
  return { value: parsed.data, problems };
}

/** Returns a problem as it is reported, without its keys. */
export function withoutKeys({ line, path, message }: LocatedProblem): ConfigProblem {
  return { line, path, message };
}
