import { distance } from 'fastest-levenshtein';

const maxCandidates = 100;
const maxNameLength = 60;

/**
 * Returns the candidate that differs from a name by a typing error or by its style, such as `file_path` and `filePath`.
 * Callers and servers choose the names, so only the first 100 candidates are compared, and only short names. For names
 * of commands and settings the protocol's `nearestName` allows more.
 */
export function probableName(name: string, candidates: string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const allowed = Math.max(1, Math.floor(name.length / 3));
  const ranked = candidates
    .filter((candidate) => candidate.length <= maxNameLength)
    .slice(0, maxCandidates)
    .map((candidate) => ({ candidate, steps: distance(withoutStyle(name), withoutStyle(candidate)) }))
    .sort((a, b) => a.steps - b.steps);
  const [best] = ranked;
  return best && best.steps <= allowed ? best.candidate : undefined;
}

function withoutStyle(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
