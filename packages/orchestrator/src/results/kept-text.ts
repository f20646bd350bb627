import type { KeptRange } from '@signalbox/protocol';
import {
  behindNewline,
  characterBegin,
  countNewlines,
  markBefore,
  markBytes,
  type TextMarks,
} from './text-marks.ts';

/** A text that can be read in parts. Places and lengths are in bytes of UTF-8. */
export interface KeptText {
  bytes: number;
  lines: number;
  marks: TextMarks;
  /** Reads this many bytes, or fewer at the end of the text. */
  read(at: number, length: number): Promise<Buffer>;
}

/**
 * A part of a text. It begins and ends between characters. `line` and `lastLine` are the lines of its first and its last byte, from 1 on.
 */
export interface TextPart {
  text: string;
  offset: number;
  end: number;
  line: number;
  lastLine: number;
  /** True if it ends where a line ends. */
  endsLine: boolean;
}

/** The length of the longest character, in bytes. */
const longestCharacter = 4;

/** Reads the bytes of a range, at most `most`, but always a whole character. An offset within a character is moved to its beginning. */
export async function readBytes(
  text: KeptText,
  { offset, bytes = Number.POSITIVE_INFINITY }: Extract<KeptRange, { by: 'bytes' }>,
  most: number,
): Promise<TextPart> {
  const wanted = Math.min(offset, text.bytes);
  const from = Math.max(0, wanted - longestCharacter);
  const read = await text.read(from, wanted - from + Math.min(bytes, most) + longestCharacter);
  const begin = characterBegin(read, wanted - from);
  let end = characterBegin(read, Math.min(read.length, wanted - from + Math.min(bytes, most)));
  if (end <= begin) end = characterEnd(read, begin);
  return partOf(text, read.subarray(begin, end), { offset: from + begin, line: undefined });
}

/** Reads whole lines from a line on, as many as fit into `most` bytes. If not even one line fits, reads the beginning of it. */
export async function readLines(
  text: KeptText,
  { line, lines = Number.POSITIVE_INFINITY }: Extract<KeptRange, { by: 'lines' }>,
  most: number,
): Promise<TextPart> {
  const offset = (await offsetOfLine(text, line)) ?? text.bytes;
  const read = await text.read(offset, most + longestCharacter);
  const isLast = offset + read.length >= text.bytes && read.length <= most;
  const fits = isLast ? read : read.subarray(0, most);
  const wanted = Number.isFinite(lines) ? behindNewline(fits, lines) : undefined;
  const whole = wanted ?? (isLast ? fits.length : fits.lastIndexOf(0x0a) + 1);
  const end = whole > 0 ? whole : characterBegin(read, Math.min(most, read.length));
  return partOf(text, read.subarray(0, end), { offset, line });
}

/** Returns the number of the line in which a place lies. */
export async function lineOf(text: KeptText, offset: number): Promise<number> {
  const mark = Math.min(Math.floor(offset / markBytes), Math.max(0, text.marks.length - 1));
  const before = await text.read(mark * markBytes, offset - mark * markBytes);
  return (text.marks[mark] ?? 0) + countNewlines(before) + 1;
}

async function offsetOfLine(text: KeptText, line: number): Promise<number | undefined> {
  if (line > text.lines) return undefined;
  const newlines = line - 1;
  if (newlines === 0) return 0;
  const mark = markBefore(text.marks, newlines);
  const read = await text.read(mark * markBytes, markBytes);
  const within = behindNewline(read, newlines - text.marks[mark]!);
  return within === undefined ? undefined : mark * markBytes + within;
}

async function partOf(
  text: KeptText,
  bytes: Buffer,
  { offset, line: known }: { offset: number; line: number | undefined },
): Promise<TextPart> {
  const line = known ?? (await lineOf(text, offset));
  const endsLine = bytes.at(-1) === 0x0a || offset + bytes.length === text.bytes;
  const newlines = countNewlines(bytes) - (bytes.at(-1) === 0x0a ? 1 : 0);
  return {
    text: bytes.toString(),
    offset,
    end: offset + bytes.length,
    line,
    lastLine: line + newlines,
    endsLine,
  };
}

function characterEnd(bytes: Buffer, begin: number): number {
  let end = begin + 1;
  while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end++;
  return Math.min(end, bytes.length);
}
