/** The most edits that count as a misspelling. */
const maxEdits = 3;
/** The most names that are compared, so that a flood of misspelt ones stays cheap. */
const maxCandidates = 2000;

/** Returns up to three candidates that are similar to `name`, the most similar first. */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const near: { candidate: string; edits: number }[] = [];
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > maxCandidates) break;
    const edits = editsBetween(name, candidate);
    if (edits <= Math.min(maxEdits, candidate.length - 1)) near.push({ candidate, edits });
  }
  near.sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1));
  return near.slice(0, 3).map(({ candidate }) => candidate);
}

/** Counts the letters to insert, delete, replace or swap with a neighbour. Stops at one more than {@link maxEdits}. */
function editsBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > maxEdits) return maxEdits + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) edits = Math.min(edits, beforeLast[j - 2]! + 1);
      row.push(edits);
    }
    if (Math.min(...row) > maxEdits) return maxEdits + 1;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
