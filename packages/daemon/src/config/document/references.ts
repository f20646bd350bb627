import { isSetting } from '@signalbox/mcp-host/rules';
import { messageOf } from '@signalbox/protocol';
import { errnoOf } from '@signalbox/protocol/internal';
import { type Document, isMap, isPair, isScalar, isSeq, visit } from 'yaml';

/** The environment and the files that references may read. */
export interface ReferenceSources {
  env: Readonly<Record<string, string | undefined>>;
  /** Variables that an editor would set, and that are no secrets. */
  editor?: Readonly<Record<string, string>>;
  /** Text of a file named relative to the file that refers to it. */
  readFile: (path: string) => string;
}

/** A value that was read. It is a secret unless every server may know it. */
type Read = { value: string; isSecret: boolean } | { problem: string };

/** A way to write references in a file, and how the value of one is read. */
export interface ReferenceSyntax {
  /** Has the flag `g`; its groups are passed to `read`. */
  pattern: RegExp;
  read: (groups: readonly (string | undefined)[], sources: ReferenceSources) => Read;
}

/** The references of `signalbox.yaml`: `${env:NAME}` and `${file:path}`. */
export const configReferences: ReferenceSyntax = {
  pattern: /\$\{(env|file):([^}]*)\}/g,
  read: ([scheme, name = ''], sources) =>
    scheme === 'env' ? readVariable(name, sources) : readReferredFile(name, sources),
};

/** A reference that cannot be read. `message` names the reference and never holds a value. */
export interface ReferenceProblem {
  offset: number;
  path: PropertyKey[];
  message: string;
}

/**
 * The secrets that references put into texts, by the whole text. An alias of YAML has the same text as its anchor, and so has the same
 * secrets.
 */
export type ReferredSecrets = ReadonlyMap<string, readonly string[]>;

/** Replaces the references in every string value of the document, in place, and lists those that cannot be read. */
export function resolveReferences(
  document: Document,
  sources: ReferenceSources,
  syntax: ReferenceSyntax,
): { problems: ReferenceProblem[]; secrets: ReferredSecrets } {
  const problems: ReferenceProblem[] = [];
  const secrets = new Map<string, string[]>();
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string') return;
      const parts: string[] = [];
      const text = node.value.replace(syntax.pattern, (whole: string, ...rest: unknown[]) => {
        const groups = rest.slice(
          0,
          rest.findIndex((part) => typeof part === 'number'),
        );
        const read = syntax.read(groups as (string | undefined)[], sources);
        if ('value' in read) {
          if (read.isSecret) parts.push(read.value);
          return read.value;
        }
        const path = pathOf([...ancestors, node]);
        problems.push({ offset: node.range?.[0] ?? 0, path, message: `${whole}: ${read.problem}` });
        return whole;
      });
      node.value = text;
      if (parts.length > 0) secrets.set(text, [...new Set([...(secrets.get(text) ?? []), ...parts])]);
    },
  });
  return { problems, secrets };
}

/** Returns the path of the last node of a chain that goes down from the document. */
function pathOf(chain: readonly unknown[]): PropertyKey[] {
  return chain.flatMap((node, at): PropertyKey[] => {
    if (isPair(node) && isMap(chain[at - 1])) return [isScalar(node.key) ? String(node.key.value) : '?'];
    return isSeq(node) ? [node.items.indexOf(chain[at + 1])] : [];
  });
}

/** Reads the value of an environment variable. */
export function readVariable(name: string, { env, editor = {} }: ReferenceSources): Read {
  const value = env[name];
  if (value !== undefined) return { value, isSecret: !isSetting(name, value) };
  if (Object.hasOwn(editor, name)) return { value: editor[name]!, isSecret: false };
  return { problem: `the environment variable ${name || '(no name)'} is not set` };
}

/** Reads the text of a file, without its last line end. */
export function readReferredFile(name: string, { readFile }: ReferenceSources): Read {
  try {
    return { value: readFile(name).replace(/\r?\n$/, ''), isSecret: true };
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return { problem: `there is no file ${name}` };
    return { problem: `the file ${name} cannot be read (${errnoOf(error) ?? messageOf(error)})` };
  }
}
