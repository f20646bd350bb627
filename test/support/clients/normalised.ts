/** The longest text that a record holds whole. */
const longest = 400;

/** Replaces what differs from run to run, and shortens long texts. `places` are paths by the words that stand for them. */
export function normalised(
  value: unknown,
  places: Readonly<Record<string, string>>,
  version: string,
): unknown {
  const byLength = Object.entries(places).sort(([, a], [, b]) => b.length - a.length);
  const text = (words: string): string => {
    let plain = words;
    // A file below the place may have a name that is new each time.
    for (const [name, path] of byLength)
      plain = plain.replaceAll(new RegExp(`${escaped(path)}(/[^\\s"'\\\\,)]*)?`, 'g'), (_, file) =>
        file ? `${name}/FILE` : name,
      );
    plain = plain
      .replaceAll(version, 'VERSION')
      .replaceAll(/(?<![0-9a-f])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])/gi, 'UUID')
      .replaceAll(/\b(127\.0\.0\.1|localhost):\d+/g, '$1:PORT')
      .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?/g, 'TIME')
      .replaceAll(/\b\d{13}\b/g, 'TIME')
      .replaceAll(/\b\d+\.\d+ seconds/g, 'N seconds');
    return plain.length > longest
      ? `${plain.slice(0, longest / 2)} … ${plain.slice(-longest / 4)} (${plain.length} characters)`
      : plain;
  };
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') return text(one);
    if (typeof one === 'number') return one > 1e12 ? 'TIME' : one;
    if (Array.isArray(one)) return one.map(walk);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([name, item]) => [name, walk(item)]));
  };
  return walk(value);
}

function escaped(path: string): string {
  return path.replaceAll(/[.+*?^$()[\]{}|\\]/g, '\\$&');
}
