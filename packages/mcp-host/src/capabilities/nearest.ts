import { distance } from 'fastest-levenshtein';

/** ` (did you mean 'x'?)` for the known name that is close to this one; else nothing. */
export function suggestion(name: string, known: Iterable<string>): string {
  const allowed = Math.max(2, Math.floor(name.length / 3));
  let best: { name: string; steps: number } | undefined;
  for (const candidate of known) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase());
    if (steps <= allowed && steps < (best?.steps ?? Number.POSITIVE_INFINITY))
      best = { name: candidate, steps };
  }
  return best === undefined ? '' : ` (did you mean '${best.name}'?)`;
}
