import { posix } from 'node:path';
import { matchesPattern, parseJson } from '@signalbox/protocol';

/**
 * Patterns for argument values, by the name of the argument. A name with dots leads into objects, and into the objects in lists, as in
 * `target.path`. `*` stands for any run of characters, including `/`.
 */
export type ArgumentPatterns = Readonly<Record<string, string | readonly string[]>>;

/**
 * Tells whether the arguments match every pattern. A missing argument matches none. In a list or an object any value counts, also in one
 * that is written as JSON text, because a server may read it so. A path is also compared without `.`, `..` and repeated slashes, so that no
 * other spelling evades a rule.
 */
export function matchesArguments(
  patterns: ArgumentPatterns,
  args: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(patterns).every(([name, pattern]) => {
    const values = valuesAt(args, name);
    return [pattern].flat().some((one) => values.some((value) => matchesValue(one, value)));
  });
}

/** Returns the texts of all values of an argument. */
function valuesAt(args: Readonly<Record<string, unknown>>, name: string): string[] {
  const texts: string[] = [];
  const reached: unknown[] = Object.hasOwn(args, name) ? [args[name]] : [];
  reached.push(
    ...name.split('.').reduce<unknown[]>((inner, key) => inner.flatMap((one) => fieldsOf(one, key)), [args]),
  );
  while (reached.length > 0) {
    const value = reached.pop();
    if (typeof value !== 'object' || value === null) texts.push(String(value));
    const inner = opened(value);
    if (inner !== undefined) for (const one of Object.values(inner)) reached.push(one);
  }
  return texts;
}

/** Returns the field of an object. For a list, returns the fields of all its objects. */
function fieldsOf(value: unknown, key: string): unknown[] {
  const inner = opened(value);
  if (inner === undefined) return [];
  const own = Object.hasOwn(inner, key) ? [Reflect.get(inner, key)] : [];
  return Array.isArray(inner) ? [...own, ...inner.flatMap((one) => fieldsOf(one, key))] : own;
}

/** Returns a list or an object, also one that is written as JSON text. */
function opened(value: unknown): object | undefined {
  if (typeof value === 'object' && value !== null) return value;
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return undefined;
  try {
    const parsed: unknown = parseJson(value);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function matchesValue(pattern: string, value: string): boolean {
  if (matchesPattern(pattern, value)) return true;
  if (!pattern.includes('/')) return false;
  const path = posix.normalize(value);
  // A pattern for everything in a folder matches the folder, too.
  return matchesPattern(pattern, path) || matchesPattern(pattern, path.endsWith('/') ? path : `${path}/`);
}
