/** Parses `items[0].name` or a JSON pointer into its steps; returns `undefined` for a text that is neither. */
export function parseValuePath(text: string): string[] | undefined {
  if (text.startsWith('/')) {
    if (/~(?![01])/.test(text)) return undefined;
    return text
      .slice(1)
      .split('/')
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  if (!/^[^.[\]]+(\.[^.[\]]+|\[\d+\])*$/.test(text)) return undefined;
  return text.split(/[.[\]]+/).filter((step) => step !== '');
}

/** Returns the value to which the steps lead; `undefined` if there is none. */
export function valueAt(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined,
    value,
  );
}
