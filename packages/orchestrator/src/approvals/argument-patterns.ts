import { posix } from 'node:path';
import {
  bodyLimits,
  isExactNumber,
  matchesPattern,
  parseJson,
  plainSpelling,
  repeatedName,
} from '@signalbox/protocol';

/**
 * Patterns for argument values, by the name of the argument. A name with dots leads into objects, and into the objects in lists, as in
 * `target.path`. `*` stands for any run of characters, including `/`.
 */
export type ArgumentPatterns = Readonly<Record<string, string | readonly string[]>>;

/**
 * Compares the arguments of one call with the patterns of rules. Each JSON text in them is parsed once, and all comparisons together take
 * at most `maxSteps`, so that no call holds up others. Where a comparison has no answer, because a text can't be read or the steps are used
 * up, the pattern counts as matching: no call evades a rule so.
 */
export class ArgumentMatcher {
  readonly #args: Readonly<Record<string, unknown>>;
  readonly #opened = new Map<string, object | undefined>();
  readonly #values = new Map<string, readonly string[] | undefined>();
  readonly #paths = new Map<string, readonly string[]>();
  #steps: number;

  /** `maxSteps` bounds the values that are visited, the texts that are parsed and the comparisons. */
  constructor(args: Readonly<Record<string, unknown>>, maxSteps: number = bodyLimits.maxNodes) {
    this.#args = args;
    this.#steps = maxSteps;
  }

  /**
   * Tells whether the arguments match every pattern. A missing argument matches none. In a list or an object any value counts, also in one
   * that is written as JSON text, because a server may read it so. A path is also compared without `.`, `..` and repeated slashes, so that
   * no other spelling evades a rule. So is a number that a double would change, without its exponent.
   */
  matches(patterns: ArgumentPatterns): boolean {
    return Object.entries(patterns).every(([name, pattern]) => {
      const values = this.#valuesAt(name);
      if (values === undefined) return true;
      return [pattern].flat().some((one) => values.some((value) => this.#matchesValue(one, value)));
    });
  }

  /** Returns the different texts of all values of an argument; `undefined` if they can't all be known. */
  #valuesAt(name: string): readonly string[] | undefined {
    if (!this.#values.has(name)) this.#values.set(name, this.#collectAt(name));
    return this.#values.get(name);
  }

  #collectAt(name: string): readonly string[] | undefined {
    const fields = this.#fieldsAt(name);
    if (fields === undefined) return undefined;
    const reached = new Set(fields);
    if (Object.hasOwn(this.#args, name)) reached.add(this.#args[name]);
    const texts = new Set<string>();
    // A set is walked to its end, also over values that are added meanwhile, and holds equal texts once.
    for (const value of reached) {
      if (isExactNumber(value)) texts.add(value.rawJSON).add(plainSpelling(value));
      else if (!isContainer(value)) texts.add(String(value));
      const inner = this.#open(value);
      if (inner === unreadable) return undefined;
      if (inner !== undefined && !this.#addAll(reached, Object.values(inner))) return undefined;
    }
    return [...texts];
  }

  /** Returns the fields to which a name with dots leads. For a list, these are the fields of all its objects. */
  #fieldsAt(name: string): readonly unknown[] | undefined {
    let values: readonly unknown[] = [this.#args];
    for (const key of name.split('.')) {
      const fields = this.#fieldsOf(values, key);
      if (fields === undefined) return undefined;
      values = fields;
    }
    return values;
  }

  #fieldsOf(values: readonly unknown[], key: string): readonly unknown[] | undefined {
    const reached = new Set(values);
    const fields: unknown[] = [];
    for (const value of reached) {
      const inner = this.#open(value);
      if (inner === unreadable) return undefined;
      if (inner === undefined) continue;
      if (Object.hasOwn(inner, key)) fields.push(Reflect.get(inner, key));
      if (Array.isArray(inner) && !this.#addAll(reached, inner)) return undefined;
    }
    return fields;
  }

  /** Adds values that are to be visited. Returns false if that exceeds the bound. */
  #addAll(reached: Set<unknown>, values: readonly unknown[]): boolean {
    if (!this.#takeSteps(values.length)) return false;
    for (const value of values) reached.add(value);
    return true;
  }

  /** Returns a list or an object, also one that is written as JSON text. */
  #open(value: unknown): object | typeof unreadable | undefined {
    if (isContainer(value)) return value;
    if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return undefined;
    if (!this.#opened.has(value)) {
      if (!this.#takeSteps(parsingSteps(value))) return unreadable;
      this.#opened.set(value, parsed(value));
    }
    return this.#opened.get(value) ?? unreadable;
  }

  #matchesValue(pattern: string, value: string): boolean {
    if (!this.#takeSteps(1) || matchesPattern(pattern, value)) return true;
    return pattern.includes('/') && this.#pathsOf(value).some((path) => matchesPattern(pattern, path));
  }

  /** Returns the other spellings of a value that is a path. */
  #pathsOf(value: string): readonly string[] {
    const known = this.#paths.get(value);
    if (known !== undefined) return known;
    const path = posix.normalize(value);
    // A pattern for everything in a folder matches the folder, too.
    const paths = [path, path.endsWith('/') ? path : `${path}/`].filter((one) => one !== value);
    this.#paths.set(value, paths);
    return paths;
  }

  /** Returns false if the bound is exceeded. It stays so for the rest of the call. */
  #takeSteps(count: number): boolean {
    this.#steps -= count;
    return this.#steps >= 0;
  }
}

/** Stands for a text that begins like a list or an object of JSON and can't be read for certain. Another reader may find values in it. */
const unreadable = Symbol('unreadable');

/** Returns the steps that the parsing of a text counts beside its values. Texts inside texts are long, with few values. */
function parsingSteps(text: string): number {
  return 4 + text.length / 16;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}

/** Returns the list or the object that a text holds; `undefined` if it can't be read, or if other readers may find other values in it. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = parseJson(text);
    return isContainer(value) && repeatedName(text) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}
