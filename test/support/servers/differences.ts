/** A place where two values differ; `undefined` stands for a field that is not there. */
export interface Difference {
  /** The names of the fields, from the outermost to the place. */
  path: readonly string[];
  direct: unknown;
  through: unknown;
}

/** Lists the places where two JSON values differ, the innermost ones. */
export function differencesOf(direct: unknown, through: unknown, path: readonly string[] = []): Difference[] {
  if (Object.is(direct, through)) return [];
  if (!isContainer(direct) || !isContainer(through) || Array.isArray(direct) !== Array.isArray(through))
    return [{ path, direct, through }];
  const [a, b] = [new Map(Object.entries(direct)), new Map(Object.entries(through))];
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].flatMap((name) => differencesOf(a.get(name), b.get(name), [...path, name]));
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
