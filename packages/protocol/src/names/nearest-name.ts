import { toolLabel } from '../mcp/tool-label.ts';

/** The most edits that count as a misspelling, also of a long name. */
const maxEdits = 3;
/** The most names that are compared, so that a flood of misspelt ones stays cheap. */
const maxCandidates = 2000;

/**
 * Returns up to three known names that `name` was probably meant to be, the most similar first: those that differ by their style, as
 * `file_path` and `filePath` do, by a plural in `ies`, or by one edit for each three letters. An edit inserts, deletes or replaces a
 * letter, or swaps two neighbours.
 */
export function nearestNames(name: string, known: Iterable<string>): string[] {
  const meant = withoutStyle(name);
  const near: { candidate: string; edits: number; same: number }[] = [];
  let seen = 0;
  for (const candidate of known) {
    if (++seen > maxCandidates) break;
    const letters = withoutStyle(candidate);
    const shorter = Math.min(meant.length, letters.length);
    const most = Math.min(maxEdits, Math.floor(shorter / 3));
    const edits =
      shorter === 0
        ? maxEdits + 1
        : Math.min(
            editsBetween(meant, letters, most),
            editsBetween(singular(meant), singular(letters), most),
          );
    if (edits <= most) near.push({ candidate, edits, same: sharedStart(name, candidate) });
  }
  // A typing error is seldom in the first letters.
  near.sort((a, b) => a.edits - b.edits || b.same - a.same || (a.candidate < b.candidate ? -1 : 1));
  return near.slice(0, 3).map(({ candidate }) => candidate);
}

/** Returns the first of the {@link nearestNames}; `undefined` if no known name is near. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  return nearestNames(name, known)[0];
}

/**
 * Returns the tool that `name` was probably meant to be, written in full, as `server:tool` or as its server does; else one of another
 * server, or without a server in its name, which its server calls the same.
 */
export function nearestTool(name: string, tools: Iterable<string>): string | undefined {
  const spellings = new Map<string, string>();
  for (const tool of tools) {
    const label = toolLabel({ tool });
    for (const text of [tool, label, label.slice(label.indexOf(':') + 1)])
      if (!spellings.has(text)) spellings.set(text, tool);
  }
  const own = toolLabel({ tool: name }).replace(/^[^:]*:/, '');
  return spellings.get(nearestName(name, spellings.keys()) ?? own);
}

/** Says to the caller of an unknown or forbidden tool which of those that it may call was probably meant. */
export function nearestToolHint(name: string, tools: readonly string[]): string {
  if (tools.length === 0) return 'You may call no tools at present.';
  const nearest = nearestTool(name, tools);
  return nearest === undefined
    ? 'No tool that you may call has a similar name.'
    : `The most similar tool you may call is '${nearest}'.`;
}

/** Returns ` (did you mean 'x'?)`, or an empty text if no known name is near. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? '' : ` (did you mean '${nearest}'?)`;
}

/** Counts the characters with which both texts begin. */
function sharedStart(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length]?.toLowerCase() === b[length]?.toLowerCase()) length++;
  return length;
}

function withoutStyle(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function singular(letters: string): string {
  return letters.replace(/ies$/, 'y');
}

/** Counts the edits between two texts. Stops at one more than `most`, and so compares only letters that are about as far along. */
function editsBetween(a: string, b: string, most: number): number {
  const tooMany = most + 1;
  if (Math.abs(a.length - b.length) > most) return tooMany;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row: number[] = new Array(b.length + 1).fill(tooMany);
    row[0] = i;
    let least = tooMany;
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) edits = Math.min(edits, beforeLast[j - 2]! + 1);
      row[j] = edits;
      least = Math.min(least, edits);
    }
    if (least > most) return tooMany;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
