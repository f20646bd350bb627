import { messageOf } from '@signalbox/protocol';
import { type Document, isMap, isPair, isScalar, isSeq, visit } from 'yaml';

/** What references may read. */
export interface ReferenceSources {
  env: Readonly<Record<string, string | undefined>>;
  /** Text of a file named relative to the config file. */
  readFile: (path: string) => string;
}

const reference = /\$\{(env|file):([^}]*)\}/g;

/** A reference that cannot be read. `message` names the reference, never a value. */
export interface ReferenceProblem {
  offset: number;
  path: PropertyKey[];
  message: string;
}

/**
 * Puts the values of `${env:NAME}` and `${file:path}` into every string value of the document, in place. */
export function resolveReferences(document: Document, sources: ReferenceSources): ReferenceProblem[] {
  const problems: ReferenceProblem[] = [];
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
      node.value = node.value.replace(reference, (whole, scheme: string, name: string) => {
        const read = readReference(scheme, name, sources);
        if ('value' in read) return read.value;
        const path = pathOf([...ancestors, node]);
        problems.push({ offset: node.range?.[0] ?? 0, path, message: `${whole}: ${read.problem}` });
        return whole;
      });
    },
  });
  return problems;
}

/** The path of the last of a chain of nodes that goes down from the document. */
function pathOf(chain: readonly unknown[]): PropertyKey[] {
  return chain.flatMap((node, at): PropertyKey[] => {
    if (isPair(node) && isMap(chain[at - 1])) return [isScalar(node.key) ? String(node.key.value) : '?'];
    return isSeq(node) ? [node.items.indexOf(chain[at + 1])] : [];
  });
}

function readReference(
  scheme: string,
  name: string,
  { env, readFile }: ReferenceSources,
): { value: string } | { problem: string } {
  if (scheme === 'env') {
    const value = env[name];
    return value === undefined
      ? { problem: `the environment variable ${name || '(no name)'} is not set` }
      : { value };
  }
  try {
    return { value: readFile(name).replace(/\r?\n$/, '') };
  } catch (error) {
    return { problem: `the file cannot be read (${errnoOf(error)})` };
  }
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
}
