import { distance } from 'fastest-levenshtein';

/** Finds the known name that `name` was probably meant to be. Returns `undefined` if none is close. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const allowed = Math.max(2, Math.floor(name.length / 3));
  let best: { name: string; steps: number } | undefined;
  for (const candidate of known) {
    const steps = distance(name.toLowerCase(), candidate.toLowerCase());
    if (steps <= allowed && (best === undefined || steps < best.steps)) best = { name: candidate, steps };
  }
  return best?.name;
}

/** Returns ` (did you mean 'x'?)`, or an empty text if no known name is close. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` (did you mean '${nearest}'?)`;
}
