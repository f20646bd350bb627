/** Writes values of claims for a message: the first of them, none of them long, nothing that steers a terminal. */
export function shown(values: readonly unknown[]): string {
  const all = values
    .filter((value) => value !== undefined)
    .map((value) => {
      const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
      return `'${text.slice(0, 64).replaceAll(/\p{Cc}/gu, ' ')}'`;
    });
  return all.length > 4 ? `${all.slice(0, 4).join(', ')} …` : all.join(', ');
}
