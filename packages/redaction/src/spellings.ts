/**
 * The most backslashes that are matched. JSON in JSON in JSON has seven before a quote; more are not followed, so that no text takes long
 * to search.
 */
const mostBackslashes = 7;
const backslashes = `\\\\{1,${mostBackslashes}}`;
/** A row of backslashes is matched from its beginning only; otherwise a text of backslashes alone would take long. */
const firstBackslashes = `(?<!\\\\)${backslashes}`;
/** A percent sign may itself be escaped, in a URL in the query of another one; three levels are followed. */
const percent = '%(?:25){0,3}';
const shortEscapes: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
};

/** Matches texts in which characters may be written as escapes of JSON or of URLs. */
export const mayHoldEscapes = /[\\%]/;

/**
 * Makes an expression that finds these values also if single characters of them are escaped, as JSON (`\/`, `\u0026`) and URLs (`%2f`)
 * allow.
 */
export function spellingsOf(values: readonly string[]): RegExp {
  return new RegExp(values.map(spellingOfText).join('|'), 'g');
}

function spellingOfText(value: string): string {
  const characters = [...value];
  return characters
    .map((one, at) => spellingOf(one, characters[at - 1] === '\\' ? backslashes : firstBackslashes))
    .join('');
}

/** `slashes` matches the backslashes that begin an escape. */
function spellingOf(character: string, slashes: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  const literal = units.map((unit) => `\\u${unit}`).join('');
  const inJson = units.map((unit) => `${slashes}u${anyCase(unit)}`).join('');
  const inUrl = [...Buffer.from(character)].map(
    (byte) => percent + anyCase(byte.toString(16).padStart(2, '0')),
  );
  return `(?:${[literal, inJson, inUrl.join(''), ...shortSpellings(character, literal, slashes)].join('|')})`;
}

function shortSpellings(character: string, literal: string, slashes: string): string[] {
  if (character === '\\') return [literal.repeat(2), literal.repeat(4)];
  if (character === ' ') return ['\\+'];
  if (character === '"' || character === '/') return [slashes + literal];
  const short = shortEscapes[character];
  return short === undefined ? [] : [slashes + short];
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
