import { type Document, isMap, isNode, isScalar, LineCounter, parseAllDocuments, parseDocument } from 'yaml';
import { type AliasRule, type SyntaxProblem, syntaxProblems } from './syntax-problems.ts';

/** A YAML document with the places of its parts in the text. */
export interface YamlDocument {
  /** The nodes of the document, as the library `yaml` parses them. */
  document: Document;
  /** The problems that keep the document from being read as plain data. */
  syntaxProblems: SyntaxProblem[];
  /** Returns the line and the column of an offset in the text; both count from 1. */
  placeAt: (offset: number) => { line: number; column: number };
}

const parseOptions = { prettyErrors: false, logLevel: 'error' } as const;

/** Parses a text that holds one YAML document (JSON is one). A second document is a problem. */
export function parseYaml(text: string, aliases: AliasRule): YamlDocument {
  const lineCounter = new LineCounter();
  return withPlaces(parseDocument(text, { ...parseOptions, lineCounter }), lineCounter, aliases);
}

/** Parses a text that holds any number of YAML documents. */
export function parseYamlDocuments(text: string, aliases: AliasRule): YamlDocument[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { ...parseOptions, lineCounter });
  if ('empty' in documents) return [];
  return documents.map((document) => withPlaces(document, lineCounter, aliases));
}

function withPlaces(document: Document, lines: LineCounter, aliases: AliasRule): YamlDocument {
  return {
    document,
    syntaxProblems: syntaxProblems(document, aliases),
    placeAt: (offset) => {
      const { line, col } = lines.linePos(offset);
      return { line: line || 1, column: col || 1 };
    },
  };
}

/** Returns the offset of the key to which a path leads, or of the key of its nearest ancestor. */
export function keyOffset(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const offset =
      offsetOf(keyNode(parent, path[length - 1]!)) ?? offsetOf(document.getIn(path.slice(0, length), true));
    if (offset !== undefined) return offset;
  }
  return offsetOf(document.contents) ?? 0;
}

/** Returns the offset of the value to which a path leads, or of its nearest ancestor. */
export function valueOffset(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length >= 0; length--) {
    const offset = offsetOf(document.getIn(path.slice(0, length), true));
    if (offset !== undefined) return offset;
  }
  return 0;
}

function keyNode(parent: unknown, key: PropertyKey): unknown {
  if (!isMap(parent)) return undefined;
  return parent.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key)?.key;
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? (node.range?.[0] ?? 0) : undefined;
}
