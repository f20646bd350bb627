import { pathText, schemaProblems } from '@signalbox/schema-problems';
import { type Document, isMap, isNode, isScalar, LineCounter, type Node, parseAllDocuments } from 'yaml';
import { type CapabilityDocument, capabilitySchema } from '../document/capability-document.ts';
import { syntaxProblems } from './yaml-syntax.ts';

/** A problem in a file. Lines and columns count from 1. */
export interface FileProblem {
  line: number;
  column: number;
  /** Such as `providers.primary.config.path`. */
  path: string;
  message: string;
}

/** A valid document. */
export interface ParsedDocument {
  document: CapabilityDocument;
  /** Returns a problem with the place in the text where a part of the document stands. */
  problemAt(path: readonly PropertyKey[], message: string): FileProblem;
}

/** Parses a capability file: YAML or JSON, one tool per document. Every problem of the documents that are not valid is in `problems`. */
export function parseCapabilityFile(text: string): { documents: ParsedDocument[]; problems: FileProblem[] } {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const documents: ParsedDocument[] = [];
  const problems: FileProblem[] = [];
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: line || 1, column: col || 1 };
  };
  for (const yaml of 'empty' in parsed ? [] : parsed) {
    const syntax = syntaxProblems(yaml);
    problems.push(...syntax.map(({ offset, message }) => ({ ...place(offset), path: '(syntax)', message })));
    if (syntax.length > 0 || yaml.contents === null || isEmpty(yaml.contents)) continue;
    const problemAt = (path: readonly PropertyKey[], message: string, key?: string): FileProblem => ({
      ...place(offsetOf(yaml, path, key)),
      path: pathText(key === undefined ? path : [...path, key]),
      message,
    });
    const raw: unknown = yaml.toJS();
    const { data, error } = capabilitySchema.safeParse(raw);
    if (data) documents.push({ document: data, problemAt });
    for (const { at, key, message } of error ? schemaProblems(error, capabilitySchema, raw) : []) {
      problems.push(problemAt(at, message, key));
    }
  }
  return { documents, problems };
}

function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}

/** Returns the offset of the key to which a path leads, or of the nearest ancestor that is there. */
function offsetOf(document: Document, path: readonly PropertyKey[], key?: string): number {
  const whole = key === undefined ? path : [...path, key];
  for (let length = whole.length; length > 0; length--) {
    const parent = document.getIn(whole.slice(0, length - 1), true);
    const node = keyIn(parent, whole[length - 1]!) ?? document.getIn(whole.slice(0, length), true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return document.contents?.range?.[0] ?? 0;
}

function keyIn(parent: unknown, key: PropertyKey): Node | undefined {
  if (!isMap(parent)) return undefined;
  const found = parent.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key)?.key;
  return isNode(found) ? found : undefined;
}
