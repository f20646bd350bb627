/** The part of a member of a JSON object that is kept: all of its value, some members of its value if that is an object, or nothing. */
export type KeptPart = 'all' | 'some' | 'nothing';

/** Why a text is no JSON, or can't be skimmed, with the line at which that was seen. */
export interface SkimProblem {
  line: number;
  message: string;
}

/** The most brackets in one another that are read. */
export const maxDepth = 200;
/** The most characters that are copied. */
export const maxCopied = 1024 * 1024;
const maxKey = 64 * 1024;

const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** The token inside of which a piece of the text ends, if any. */
type Inside = 'nothing' | 'text' | 'word' | 'slash' | 'line comment' | 'comment' | 'star in comment';

/**
 * Copies the wanted members out of a JSON text that comes in pieces, and passes over the rest: nothing is built of it, and of its values
 * only quotes and brackets are checked. The copy is for a reader that checks it. It has the line ends of the text, so that everything in
 * it stays in its line. Comments and trailing commas are allowed.
 */
export class JsonSkim {
  readonly #partOf: (path: readonly string[]) => KeptPart;
  #inside: Inside = 'nothing';
  /** The closers of the open brackets. The first are those of the objects of which some members are kept. */
  readonly #open: string[] = [];
  /** True for each object of which some members are kept once one was copied. */
  readonly #hasMember: boolean[] = [];
  /** The keys that lead to the innermost of these objects. */
  readonly #path: string[] = [];
  #expected: 'key or end' | 'colon' | 'value' | 'comma or end' | 'nothing' = 'value';
  /** The key that is read, as it is written, or the last one. */
  #key = '';
  #isKey = false;
  #part: KeptPart = 'some';
  /** The place in the piece from which on the value is copied. */
  #copyFrom: number | undefined;
  /** True if the next character belongs to an escape in a text. */
  #isEscaped = false;
  #line = 1;
  /** The line ends since the last characters that were copied. */
  #lineEnds = 0;
  readonly #copied: string[] = [];
  #copiedLength = 0;
  #problem: SkimProblem | undefined;

  /** `partOf` says for the path of a member what is kept of it. The text should be an object, of which some members are kept. */
  constructor(partOf: (path: readonly string[]) => KeptPart) {
    this.#partOf = partOf;
  }

  /** Reads the next piece of the text. Returns false if no further piece is needed. */
  push(piece: string): boolean {
    for (let at = 0; at < piece.length && !this.#problem; ) at = this.#read(piece, at);
    if (this.#copyFrom !== undefined) {
      this.#copy(piece.slice(this.#copyFrom));
      this.#copyFrom = 0;
    }
    return this.#problem === undefined;
  }

  /** Returns the copy, or why the text is no JSON. */
  end(): { text: string } | { problem: SkimProblem } {
    const isBetweenTokens = ['nothing', 'word', 'line comment'].includes(this.#inside);
    if (this.#expected === 'value' && this.#open.length === 0 && isBetweenTokens) this.#fail('is empty');
    else if (this.#expected !== 'nothing' || this.#open.length > 0 || !isBetweenTokens) {
      this.#fail('is half-written: it ends in the middle');
    }
    return this.#problem ? { problem: this.#problem } : { text: this.#copied.join('') };
  }

  #fail(message: string): void {
    this.#problem ??= { line: this.#line, message };
  }

  #failHere(): void {
    this.#fail('is no JSON: something in this line does not belong there');
  }

  /** True around the whole and between the members of an object of which some are kept. */
  get #isBetween(): boolean {
    return this.#open.length === this.#hasMember.length;
  }

  #read(piece: string, at: number): number {
    switch (this.#inside) {
      case 'text':
        return this.#readText(piece, at);
      case 'word':
        return this.#readWord(piece, at);
      case 'nothing':
        this.#readToken(piece, at);
        return at + 1;
      default:
        return this.#readComment(piece, at);
    }
  }

  #readToken(piece: string, at: number): void {
    const character = piece[at]!;
    switch (character) {
      case ' ':
      case '\t':
      case '\r':
        break;
      case '\n':
        this.#readLineEnd();
        break;
      case '/':
        this.#inside = 'slash';
        return;
      case '"':
        this.#startText(at);
        break;
      case '{':
      case '[':
        this.#openBracket(character, at);
        break;
      case '}':
      case ']':
        this.#closeBracket(character, piece, at);
        break;
      case ',':
      case ':':
        this.#readMark(character);
        break;
      default:
        if (!this.#isBetween) return;
        this.#startValue(at);
        this.#inside = 'word';
    }
  }

  #readLineEnd(): void {
    this.#line++;
    if (this.#copyFrom === undefined) this.#lineEnds++;
  }

  #readMark(mark: ',' | ':'): void {
    if (!this.#isBetween) return;
    if (mark === ',' && this.#expected === 'comma or end') this.#expected = 'key or end';
    else if (mark === ':' && this.#expected === 'colon') this.#expected = 'value';
    else this.#failHere();
  }

  #startText(at: number): void {
    this.#isKey = this.#isBetween && this.#expected === 'key or end';
    if (this.#isKey) this.#key = '';
    else this.#startValue(at);
    this.#inside = 'text';
  }

  #readText(piece: string, start: number): number {
    let from = start;
    if (this.#isEscaped) from++;
    this.#isEscaped = false;
    for (;;) {
      const quote = piece.indexOf('"', from);
      const end = quote < 0 ? piece.length : quote;
      const isEscape = isEscaped(piece, end, from);
      if (quote >= 0 && isEscape) {
        from = quote + 1;
        continue;
      }
      if (this.#isKey) this.#addToKey(piece.slice(start, end));
      if (quote < 0) {
        this.#isEscaped = isEscape;
        return end;
      }
      this.#inside = 'nothing';
      if (this.#isKey) this.#endKey();
      else if (this.#isBetween) this.#endValue(piece, quote + 1);
      return quote + 1;
    }
  }

  #addToKey(part: string): void {
    this.#key += part;
    if (this.#key.length > maxKey) this.#fail(`has a key of more than ${maxKey} characters`);
  }

  #endKey(): void {
    this.#isKey = false;
    this.#expected = 'colon';
    try {
      this.#key = JSON.parse(`"${this.#key}"`);
      this.#part = this.#partOf([...this.#path, this.#key]);
    } catch {
      this.#failHere();
    }
  }

  /** Passes over a number, `null` and the like; a reader checks what it is. */
  #readWord(piece: string, start: number): number {
    let at = start;
    while (at < piece.length && !wordEnds.has(piece[at]!)) at++;
    if (at < piece.length) {
      this.#inside = 'nothing';
      this.#endValue(piece, at);
    }
    return at;
  }

  #readComment(piece: string, at: number): number {
    const character = piece[at]!;
    switch (this.#inside) {
      case 'slash':
        if (character === '/') this.#inside = 'line comment';
        else if (character === '*') this.#inside = 'comment';
        else {
          if (this.#isBetween) this.#failHere();
          this.#inside = 'nothing';
          return at;
        }
        return at + 1;
      case 'line comment':
        if (character !== '\n') return at + 1;
        this.#inside = 'nothing';
        return at;
      default:
        if (character === '\n') this.#readLineEnd();
        if (character === '/' && this.#inside === 'star in comment') this.#inside = 'nothing';
        else this.#inside = character === '*' ? 'star in comment' : 'comment';
        return at + 1;
    }
  }

  #openBracket(bracket: '{' | '[', at: number): void {
    if (this.#isBetween && this.#expected === 'value' && this.#part === 'some' && bracket === '{') {
      if (this.#open.length === 0) this.#copy('{');
      else {
        this.#copy(`${this.#keyText()}{`);
        this.#path.push(this.#key);
      }
      this.#hasMember.push(false);
      this.#expected = 'key or end';
    } else this.#startValue(at);
    this.#open.push(closers[bracket]!);
    if (this.#open.length > maxDepth) this.#fail(`has more than ${maxDepth} brackets in one another`);
  }

  #closeBracket(bracket: '}' | ']', piece: string, at: number): void {
    const isEndOfMembers = this.#isBetween;
    const isExpected =
      !isEndOfMembers || this.#expected === 'key or end' || this.#expected === 'comma or end';
    if (!isExpected || this.#open.pop() !== bracket) this.#failHere();
    else if (isEndOfMembers) {
      this.#copy('}');
      this.#hasMember.pop();
      this.#path.pop();
      this.#expected = this.#open.length === 0 ? 'nothing' : 'comma or end';
    } else if (this.#isBetween) this.#endValue(piece, at + 1);
  }

  /** Begins a value whose members are not looked at. */
  #startValue(at: number): void {
    if (!this.#isBetween) return;
    if (this.#expected !== 'value') this.#failHere();
    else if (this.#open.length === 0) {
      this.#copy('null');
      this.#expected = 'nothing';
    } else {
      this.#expected = 'comma or end';
      if (this.#part !== 'all') return;
      this.#copy(this.#keyText());
      this.#copyFrom = at;
    }
  }

  #endValue(piece: string, at: number): void {
    if (this.#copyFrom === undefined) return;
    this.#copy(piece.slice(this.#copyFrom, at));
    this.#copyFrom = undefined;
  }

  /** Returns the last key as it stands before its value. */
  #keyText(): string {
    const comma = this.#hasMember.at(-1) ? ',' : '';
    this.#hasMember[this.#hasMember.length - 1] = true;
    return `${comma}${JSON.stringify(this.#key)}:`;
  }

  #copy(text: string): void {
    this.#copiedLength += text.length;
    if (this.#copiedLength > maxCopied) this.#fail('holds more than 1 MiB of servers');
    else this.#copied.push('\n'.repeat(this.#lineEnds), text);
    this.#lineEnds = 0;
  }
}

const wordEnds: ReadonlySet<string> = new Set(' \t\r\n,:{}[]"/');

/** Returns true if the character at an offset is escaped by a backslash. Backslashes before `from` do not count. */
function isEscaped(text: string, at: number, from: number): boolean {
  let backslashes = 0;
  while (at - backslashes > from && text[at - backslashes - 1] === '\\') backslashes++;
  return backslashes % 2 === 1;
}
