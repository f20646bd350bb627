/** The steps of `items[0].name` or of a JSON pointer; `undefined` for what is neither. */
export function parseResponsePath(text: string): string[] | undefined {
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

/** What is at the steps; `undefined` where there is nothing. */
export function valueAt(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step)
        ? (at as Record<string, unknown>)[step]
        : undefined,
    value,
  );
}
