import { type Node as JsonNode, type ParseError, parseTree } from 'jsonc-parser';
import { Document, LineCounter, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { ConfigProblem } from './config-problem.ts';
import { maxDepth } from './json-skim.ts';
import type { ReadDocument } from './read-document.ts';

const misplaced = 'this does not belong here: look for a missing quote, bracket or comma before it';

/**
 * Reads a JSON text, in which comments and trailing commas are allowed, as a document of the same kind as YAML gives. Of two members with
 * one name the last counts, as everywhere in JSON.
 */
export function readJsonDocument(text: string): ReadDocument | { problems: ConfigProblem[] } {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  try {
    const document = new Document();
    document.contents = yamlNode(jsonTree(text), text) as typeof document.contents;
    return { document, lineAt };
  } catch (error) {
    if (!(error instanceof Misplaced)) throw error;
    return { problems: [{ line: lineAt(error.offset), path: '(syntax)', message: error.message }] };
  }
}

/** The text is no JSON that is read here. */
class Misplaced extends Error {
  readonly offset: number;

  constructor(offset: number, message = misplaced) {
    super(message);
    this.offset = offset;
  }
}

function jsonTree(text: string): JsonNode {
  const errors: ParseError[] = [];
  let root: JsonNode | undefined;
  try {
    root = parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    // The parser calls itself for each bracket.
    if (error instanceof RangeError) throw tooDeep(0);
    throw error;
  }
  const [first] = errors;
  if (first || !root) throw new Misplaced(first?.offset ?? 0);
  return root;
}

function tooDeep(offset: number): Misplaced {
  return new Misplaced(offset, `has more than ${maxDepth} brackets in one another`);
}

function yamlNode(json: JsonNode, text: string, depth = 0): Scalar | YAMLMap | YAMLSeq {
  const { type, offset, length, children = [] } = json;
  const isScalar = type !== 'object' && type !== 'array';
  if (!isScalar && depth === maxDepth) throw tooDeep(offset);
  const node = isScalar
    ? scalarOf(json, text)
    : type === 'object'
      ? mapOf(children, text, depth + 1)
      : listOf(children, text, depth + 1);
  node.range = [offset, offset + length, offset + length];
  return node;
}

function scalarOf({ type, value, offset, length }: JsonNode, text: string): Scalar {
  const scalar = new Scalar(value);
  // A number may have more digits than its value.
  if (type === 'number') scalar.source = text.slice(offset, offset + length);
  return scalar;
}

function mapOf(members: readonly JsonNode[], text: string, depth: number): YAMLMap {
  const pairs = new Map<unknown, Pair>();
  for (const { children: [key, value] = [] } of members) {
    if (key?.value === '__proto__') throw new Misplaced(key.offset, "'__proto__' cannot be a name");
    pairs.set(key!.value, new Pair(yamlNode(key!, text, depth), yamlNode(value!, text, depth)));
  }
  const map = new YAMLMap();
  map.items = [...pairs.values()];
  return map;
}

function listOf(items: readonly JsonNode[], text: string, depth: number): YAMLSeq {
  const list = new YAMLSeq();
  list.items = items.map((item) => yamlNode(item, text, depth));
  return list;
}
