import { distance } from 'fastest-levenshtein';

/** The known name that `name` was probably meant to be, or `undefined` where none is close. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const allowed = Math.max(2, Math.floor(name.length / 3));
  let best: { name: string; steps: number } | undefined;
  for (const candidate of known) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase());
    if (steps <= allowed && (best === undefined || steps < best.steps)) best = { name: candidate, steps };
  }
  return best?.name;
}

/** ` (did you mean 'x'?)`, or nothing. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` (did you mean '${nearest}'?)`;
}
