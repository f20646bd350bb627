import type { KeptRange } from '@signalbox/protocol';
import { type KeptText, lineOf, readBytes, type TextPart } from './kept-text.ts';

/** The matches of a search, in the order of the text. */
export interface TextMatches {
  places: number[];
  /** The byte at which the search continues; `undefined` if all of the text was searched. */
  next: number | undefined;
}

/** The number of bytes that are searched at once. */
const stepBytes = 64 * 1024;
/** The bytes around a match from which its context is taken. */
const aroundBytes = 4 * 1024;
/** The longest line that is shown whole, in characters; of a longer one, this much is shown around the match. */
const longestLine = 400;

/**
 * Finds the places of a text, exactly or ignoring case. It reads piece by piece, so that a large text takes little memory and other work
 * gets its turns.
 */
export async function searchText(
  text: KeptText,
  { search, ignoreCase, matches, offset }: Extract<KeptRange, { by: 'search' }>,
): Promise<TextMatches> {
  const pattern = new RegExp(search.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), ignoreCase ? 'giu' : 'gu');
  // In another case a character may be longer.
  const overlap = Buffer.byteLength(search) * 3;
  const places: number[] = [];
  for (let from = offset; from < text.bytes; ) {
    const piece = await readBytes(
      text,
      { by: 'bytes', offset: from, bytes: stepBytes + overlap },
      stepBytes + overlap,
    );
    const isLast = piece.end >= text.bytes;
    const until = isLast ? piece.end : piece.end - overlap;
    let [counted, at] = [0, piece.offset];
    for (const found of piece.text.matchAll(pattern)) {
      at += Buffer.byteLength(piece.text.slice(counted, found.index));
      counted = found.index;
      // A piece begins with a whole character, which may have been searched already.
      if (at < from) continue;
      if (at >= until) break;
      if (places.length === matches) return { places, next: at };
      places.push(at);
    }
    if (isLast) return { places, next: undefined };
    from = until;
  }
  return { places, next: undefined };
}

/** A line of a text, or a part of a long one, as a search shows it. */
export interface ShownLine {
  line: number;
  text: string;
  /** The byte at which its match begins; `undefined` for a line that is only near one. */
  place: number | undefined;
  isCut: boolean;
}

/**
 * Returns the lines around each match, in the order of the text and each once. Of a long line, the part around a match is shown, and
 * another part for a match that is outside of it.
 */
export async function linesAround(
  text: KeptText,
  places: readonly number[],
  context: number,
): Promise<ShownLine[]> {
  const near = new Map<number, ShownLine>();
  const matching = new Map<number, ShownLine[]>();
  let coveredUntil = 0;
  for (const place of places) {
    if (place < coveredUntil) continue;
    const from = Math.max(0, place - aroundBytes);
    const around = await readBytes(
      text,
      { by: 'bytes', offset: from, bytes: 2 * aroundBytes },
      2 * aroundBytes,
    );
    const own = await lineOf(text, place);
    for (const { after, ...one } of linesOf(around, { text, place, own, context })) {
      if (one.place === undefined) {
        if (!near.has(one.line)) near.set(one.line, one);
        continue;
      }
      matching.set(one.line, [...(matching.get(one.line) ?? []), one]);
      coveredUntil = place + after;
    }
  }
  for (const line of matching.keys()) near.delete(line);
  return [...near.values(), ...[...matching.values()].flat()].sort(
    (a, b) => a.line - b.line || (a.place ?? 0) - (b.place ?? 0),
  );
}

/** Returns the lines around one match. `after` counts the bytes from the match to the end of the shown part of its line. */
function linesOf(
  around: TextPart,
  { text, place, own, context }: { text: KeptText; place: number; own: number; context: number },
): (ShownLine & { after: number })[] {
  const before = Buffer.from(around.text)
    .subarray(0, place - around.offset)
    .toString();
  const lines = around.text.split('\n');
  if (around.text.endsWith('\n')) lines.pop();
  const shown: (ShownLine & { after: number })[] = [];
  for (const [at, whole] of lines.entries()) {
    const line = around.line + at;
    if (Math.abs(line - own) > context) continue;
    const isMatch = line === own;
    const column = isMatch ? before.length - (before.lastIndexOf('\n') + 1) : 0;
    const isCutBefore = at === 0 && around.offset > 0;
    const isCutAfter = at === lines.length - 1 && around.end < text.bytes && !around.text.endsWith('\n');
    const cut = cutLine(whole, column, { isCutBefore, isCutAfter });
    shown.push({ line, place: isMatch ? place : undefined, ...cut });
  }
  return shown;
}

function cutLine(
  line: string,
  column: number,
  { isCutBefore, isCutAfter }: { isCutBefore: boolean; isCutAfter: boolean },
): { text: string; isCut: boolean; after: number } {
  const characters = [...line.replace(/\r$/, '')];
  const at = [...line.slice(0, column)].length;
  const begin = characters.length <= longestLine ? 0 : Math.max(0, at - longestLine / 2);
  const end = Math.min(characters.length, begin + longestLine);
  const head = begin > 0 || isCutBefore ? '…' : '';
  const tail = end < characters.length || isCutAfter ? '…' : '';
  return {
    text: `${head}${characters.slice(begin, end).join('')}${tail}`,
    isCut: head !== '' || tail !== '',
    after: Buffer.byteLength(characters.slice(at, end).join('')),
  };
}
