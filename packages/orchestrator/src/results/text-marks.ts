/** The distance of two marks, in bytes. */
export const markBytes = 64 * 1024;

const newline = 0x0a;

/** The number of newlines before each multiple of {@link markBytes}. With these, lines are found without reading everything before them. */
export type TextMarks = readonly number[];

/** Counts the lines of a text and makes its marks. A text that does not end with a newline has one more line. */
export function marksOf(text: Buffer): { marks: TextMarks; lines: number } {
  const marks: number[] = [];
  let newlines = 0;
  for (let at = 0; at < text.length; at += markBytes) {
    marks.push(newlines);
    newlines += countNewlines(text.subarray(at, at + markBytes));
  }
  return { marks, lines: newlines + (text.length > 0 && text.at(-1) !== newline ? 1 : 0) };
}

/** Counts the newlines in some bytes. */
export function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count++;
  return count;
}

/** Returns the place after the n-th newline of some bytes; `undefined` if there are fewer. */
export function behindNewline(bytes: Buffer, n: number): number | undefined {
  let at = -1;
  for (let left = n; left > 0; left--) {
    at = bytes.indexOf(newline, at + 1);
    if (at < 0) return undefined;
  }
  return at + 1;
}

/** Returns the index of the last mark with fewer than `newlines` newlines before it; 0 if there is none. */
export function markBefore(marks: TextMarks, newlines: number): number {
  let [low, high] = [0, marks.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (marks[middle]! < newlines) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** Returns the first byte of the character in which a place lies: bytes of UTF-8 that continue a character begin with the bits 10. */
export function characterBegin(bytes: Buffer, at: number): number {
  let begin = at;
  while (begin > 0 && begin < bytes.length && (bytes[begin]! & 0xc0) === 0x80) begin--;
  return begin;
}
