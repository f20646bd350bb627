/**
 * Returns true if `name` matches `pattern`, in which each `*` stands for any run of characters and every other character for itself. The
 * parts between the stars are searched from left to right and never again, so no pattern is slow.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const segments = pattern.split('*');
  const first = segments[0]!;
  if (segments.length === 1) return name === pattern;
  const last = segments.at(-1)!;
  if (name.length < first.length + last.length) return false;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const segment of segments.slice(1, -1)) {
    const found = name.indexOf(segment, at);
    if (found < 0 || found + segment.length > end) return false;
    at = found + segment.length;
  }
  return true;
}

/** Returns true if a pattern matches some text that begins with `start`. */
export function mayMatchStart(pattern: string, start: string): boolean {
  const head = pattern.split('*', 1)[0]!;
  return head.startsWith(start) || (pattern.includes('*') && start.startsWith(head));
}
