/** Appends a step to a JSON pointer (RFC 6901). */
export function pointerTo(parent: string, step: string | number): string {
  return `${parent}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Returns the value to which a pointer leads; `undefined` if there is none. */
export function valueAt(root: unknown, pointer: string): { value: unknown } | undefined {
  let value = root;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return { value };
}

/** Returns pointers to the values that differ, were added or left out. If two containers are of the same kind, the pointers lead into them. */
export function changesBetween(before: unknown, after: unknown, at = ''): string[] {
  if (before === after) return [];
  const areAlike =
    typeof before === 'object' &&
    typeof after === 'object' &&
    before !== null &&
    after !== null &&
    Array.isArray(before) === Array.isArray(after);
  if (!areAlike) return [at];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changesBetween(
      (before as Record<string, unknown>)[key],
      (after as Record<string, unknown>)[key],
      pointerTo(at, key),
    ),
  );
}
