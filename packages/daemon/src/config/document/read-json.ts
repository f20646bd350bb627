import { Document, LineCounter, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { ConfigProblem } from './config-problem.ts';
import { isEscaped, maxDepth } from './json-skim.ts';
import type { ReadDocument } from './read-document.ts';

/**
 * Reads a JSON text, in which comments and trailing commas are allowed, as a document of the same kind as YAML gives. Of two members with
 * one name the last counts, as everywhere in JSON.
 */
export function readJson(text: string): ReadDocument | { problems: ConfigProblem[] } {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const reader = new JsonReader(text);
  try {
    const document = new Document();
    document.contents = reader.readAll() as typeof document.contents;
    return { document, lineAt };
  } catch (error) {
    if (!(error instanceof Misplaced)) throw error;
    return { problems: [{ line: lineAt(reader.offset), path: '(syntax)', message: error.message }] };
  }
}

/** The text is no JSON at the offset of the reader. */
class Misplaced extends Error {}

type Node = Scalar | YAMLMap | YAMLSeq;

/** Reads one text from its start to its end. */
class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get offset(): number {
    return this.#at;
  }

  readAll(): Node {
    const node = this.#readValue();
    if (this.#next() !== undefined) this.#fail();
    return node;
  }

  #fail(message = 'this does not belong here: look for a missing quote, bracket or comma before it'): never {
    throw new Misplaced(message);
  }

  /** Passes over blanks and comments, and returns the next character. */
  #next(): string | undefined {
    for (;;) {
      while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++;
      const isBlock = this.#text.startsWith('/*', this.#at);
      if (!isBlock && !this.#text.startsWith('//', this.#at)) return this.#text[this.#at];
      const end = this.#text.indexOf(isBlock ? '*/' : '\n', this.#at + 2);
      this.#at = end < 0 ? this.#text.length : end + (isBlock ? 2 : 0);
    }
  }

  #readValue(): Node {
    const first = this.#next();
    const start = this.#at;
    const node = first === '{' ? this.#readObject() : first === '[' ? this.#readList() : this.#readScalar();
    node.range = [start, this.#at, this.#at];
    return node;
  }

  #readObject(): YAMLMap {
    const pairs = new Map<unknown, Pair>();
    this.#readItems('}', () => {
      if (this.#next() !== '"') this.#fail();
      const key = this.#readValue() as Scalar;
      if (key.value === '__proto__') this.#fail("'__proto__' cannot be a name");
      if (this.#next() !== ':') this.#fail();
      this.#at++;
      pairs.set(key.value, new Pair(key, this.#readValue()));
    });
    const map = new YAMLMap();
    map.items = [...pairs.values()];
    return map;
  }

  #readList(): YAMLSeq {
    const list = new YAMLSeq();
    this.#readItems(']', () => list.items.push(this.#readValue()));
    return list;
  }

  #readItems(closer: '}' | ']', readItem: () => void): void {
    if (++this.#depth > maxDepth) this.#fail(`has more than ${maxDepth} brackets in one another`);
    this.#at++;
    while (this.#next() !== closer) {
      readItem();
      const next = this.#next();
      if (next === ',') this.#at++;
      else if (next !== closer) this.#fail();
    }
    this.#at++;
    this.#depth--;
  }

  #readScalar(): Scalar {
    const source = this.#text[this.#at] === '"' ? this.#textSource() : this.#wordSource();
    let value: unknown;
    try {
      value = JSON.parse(source);
    } catch {
      this.#fail();
    }
    this.#at += source.length;
    const scalar = new Scalar(value);
    // A number may have more digits than its value.
    if (typeof value === 'number') scalar.source = source;
    return scalar;
  }

  #textSource(): string {
    let end = this.#text.indexOf('"', this.#at + 1);
    while (end >= 0 && isEscaped(this.#text, end, this.#at + 1)) end = this.#text.indexOf('"', end + 1);
    return this.#text.slice(this.#at, end < 0 ? undefined : end + 1);
  }

  /** Returns the characters of a number, `true`, `false` or `null`. */
  #wordSource(): string {
    let end = this.#at;
    while (/[\w.+-]/.test(this.#text[end] ?? '')) end++;
    return this.#text.slice(this.#at, end);
  }
}
