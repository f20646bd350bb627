import { posix } from 'node:path';
import { matchesPattern } from '@signalbox/protocol';

/**
 * Patterns for argument values, by the name of the argument. A name with dots leads into objects, and into the objects in lists, as in
 * `target.path`. `*` stands for any run of characters, including `/`.
 */
export type ArgumentPatterns = Readonly<Record<string, string | readonly string[]>>;

/**
 * Tells whether the arguments match every pattern. A missing argument matches none. In a list or an object any value counts. A path is also
 * compared without `.`, `..` and repeated slashes, so that no other spelling evades a rule.
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
    if (typeof value === 'object' && value !== null) reached.push(...Object.values(value));
    else texts.push(String(value));
  }
  return texts;
}

/** Returns the field of an object. For a list, returns the fields of all its objects. */
function fieldsOf(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.hasOwn(value, key) ? [Reflect.get(value, key)] : [];
  return Array.isArray(value) ? [...own, ...value.flatMap((one) => fieldsOf(one, key))] : own;
}

function matchesValue(pattern: string, value: string): boolean {
  if (matchesPattern(pattern, value)) return true;
  if (!pattern.includes('/')) return false;
  const path = posix.normalize(value);
  // A pattern for everything in a folder matches the folder, too.
  return matchesPattern(pattern, path) || matchesPattern(pattern, path.endsWith('/') ? path : `${path}/`);
}
