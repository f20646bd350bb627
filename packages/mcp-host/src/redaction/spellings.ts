/** Matches texts in which characters may be written as escapes of JSON or of URLs. */
export const mayHoldEscapes = /[\\%]/;

/** A text in which each escape is replaced by the character that it stands for, with the places where the characters stood. */
interface Unescaped {
  text: string;
  /** The places where the spelling of each UTF-16 unit of `text` begins and ends in the text as it was written. */
  starts: number[];
  ends: number[];
}

/**
 * The ways in which a text may be read: JSON in JSON has several backslashes before a character, and a URL in the query of another one
 * escapes its percent signs again. A letter behind a backslash, or digits behind an escaped percent sign, may also stand for themselves.
 */
const ways = [true, false].flatMap((short) => [true, false].map((nested) => escapesOf({ short, nested })));

const shortEscapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

interface Escapes {
  any: RegExp;
  byte: RegExp;
}

function escapesOf({ short, nested }: { short: boolean; nested: boolean }): Escapes {
  const byte = nested ? '%(?:25)*[0-9a-fA-F]{2}' : '%[0-9a-fA-F]{2}';
  const any = `\\\\+u[0-9a-fA-F]{4}|\\\\+["/${short ? 'bfnrt' : ''}]|\\\\+|(?:${byte})+|\\+`;
  return { any: new RegExp(any, 'g'), byte: new RegExp(byte, 'g') };
}

/**
 * Makes a function that finds values in a text also if single characters of them are escaped, as JSON (`\/`, `\u0026`) and URLs (`%2f`)
 * allow. It returns the places in order, each the index of its first character and of the one behind it. Text and values are read in the
 * same ways and then compared, so that the time grows with the length of the text, whatever the values are.
 */
export function spellingsOf(
  values: readonly string[],
  shortest: number,
): (text: string) => [start: number, end: number][] {
  const wanted = ways.map((way) => new Set(values.flatMap((value) => comparable(value, way, shortest))));
  return (text) => {
    const found = ways.flatMap((way, at) => {
      const values = wanted[at]!;
      // Most texts hold no value, and to remember all places takes longer than to look.
      const plain = plainText(text, way);
      return [...values].some((value) => plain.includes(value)) ? placesIn(unescaped(text, way), values) : [];
    });
    return merged(found.toSorted(([a], [b]) => a - b));
  };
}

/** Returns the form of a value that is looked for. It has no percent signs at its ends: a text may have digits behind them. */
function comparable(value: string, way: Escapes, shortest: number): string[] {
  const { text } = unescaped(value, way);
  const inner = text.replace(/^%+|%+$/g, '');
  return [inner, text].filter((form) => form.length >= shortest).slice(0, 1);
}

function placesIn({ text, starts, ends }: Unescaped, wanted: ReadonlySet<string>): [number, number][] {
  const places: [number, number][] = [];
  for (const value of wanted) {
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length))
      places.push([starts[at]!, ends[at + value.length - 1]!]);
  }
  return places;
}

function merged(places: readonly [number, number][]): [number, number][] {
  const result: [number, number][] = [];
  for (const [start, end] of places) {
    const last = result.at(-1);
    if (last && start < last[1]) last[1] = Math.max(last[1], end);
    else result.push([start, end]);
  }
  return result;
}

/** Returns the text of {@link unescaped} alone. */
function plainText(written: string, { any, byte }: Escapes): string {
  return written
    .replace(any, (found) => {
      if (!found.startsWith('%')) return characterOf(found);
      return found.length === 3 && found < '%8' ? characterOfByte(found) : textOfBytes(bytesOf(found, byte));
    })
    .replaceAll('\\', '');
}

function unescaped(written: string, { any, byte }: Escapes): Unescaped {
  const read: Unescaped = { text: '', starts: [], ends: [] };
  const parts: string[] = [];
  const add = (text: string, start: number, end: number): void => {
    // Nobody can tell how many of a row of backslashes are characters of their own, so none counts.
    if (text === '\\') return;
    parts.push(text);
    for (let unit = 0; unit < text.length; unit++) {
      read.starts.push(start);
      read.ends.push(end);
    }
  };
  const addPlain = (from: number, to: number): void => {
    parts.push(written.slice(from, to));
    for (let at = from; at < to; at++) {
      read.starts.push(at);
      read.ends.push(at + 1);
    }
  };
  let from = 0;
  for (const { 0: found, index } of written.matchAll(any)) {
    addPlain(from, index);
    from = index + found.length;
    if (found.startsWith('%')) addBytes(found, index, byte, add);
    else add(characterOf(found), index, from);
  }
  addPlain(from, written.length);
  read.text = parts.join('');
  return read;
}

/** Returns the character that an escape of JSON stands for, or a space for a plus sign. */
function characterOf(spelling: string): string {
  if (spelling === '+') return ' ';
  const name = spelling.replace(/^\\+/, '');
  return name.length > 1
    ? String.fromCharCode(Number.parseInt(name.slice(1), 16))
    : (shortEscapes[name] ?? name);
}

interface EscapedByte {
  value: number;
  /** The place where its spelling begins in the row, and the one behind its end. */
  start: number;
  end: number;
}

function bytesOf(row: string, byte: RegExp): EscapedByte[] {
  return [...row.matchAll(byte)].map(({ 0: written, index }) => ({
    value: Number.parseInt(written.slice(-2), 16),
    start: index,
    end: index + written.length,
  }));
}

function characterOfByte(escaped: string): string {
  return String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
}

function textOfBytes(bytes: readonly EscapedByte[]): string {
  return Buffer.from(bytes.map(({ value }) => value)).toString();
}

/** Reads a row of escaped bytes as UTF-8, character by character. */
function addBytes(
  row: string,
  offset: number,
  byte: RegExp,
  add: (text: string, start: number, end: number) => void,
): void {
  const bytes = bytesOf(row, byte);
  for (let at = 0; at < bytes.length; ) {
    const character = bytes.slice(at, at + utf8Length(bytes[at]!.value));
    add(textOfBytes(character), offset + character[0]!.start, offset + character.at(-1)!.end);
    at += character.length;
  }
}

/** Returns how many bytes a character has in UTF-8, from its first byte. */
function utf8Length(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
