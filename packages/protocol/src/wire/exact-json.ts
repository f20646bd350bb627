/**
 * A number of a JSON text that a double would change, such as 12345678901234567890 or 1e400. `JSON.stringify` writes its text as it was
 * read.
 */
export interface ExactNumber {
  readonly rawJSON: string;
}

/** The part of `JSON` that Node has and the library of TypeScript does not describe yet. */
interface ExactJson {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
}

const exactJson: ExactJson = JSON as JSON & ExactJson;

/**
 * Matches a JSON text with a number that may have more than 15 digits, or has an exponent. A string in it may look like one, too. Readers of
 * many texts test this first, and call {@link readJson} only if it matches.
 */
export const longNumber = /(?:^|[[,:\s])-?\d(?:[\d.]{15}|[\d.]*[eE])/;

/**
 * Parses JSON as `JSON.parse` does, except that a number which a double would change becomes an {@link ExactNumber}. The slower way that
 * this needs is taken only for texts that {@link longNumber} matches.
 */
export function readJson(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text);
  try {
    return exactJson.parse(text, (_name, value, { source }) =>
      typeof value === 'number' && source !== undefined ? numberOf(source, value) : value,
    );
  } catch (error) {
    // The reviver needs stack for each level. A text that exhausts it nests deeper than any message that is passed on.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

/** Returns true if a value of parsed JSON is an {@link ExactNumber}. It is no function of its own, because each message asks often. */
export const isExactNumber = exactJson.isRawJSON;

/** Returns the {@link ExactNumber} of a number in JSON; `undefined` if a double holds the number, or the text is none. */
export function exactNumber(source: string): ExactNumber | undefined {
  const exact = parts.test(source) ? numberOf(source, Number(source)) : undefined;
  return typeof exact === 'object' ? exact : undefined;
}

function numberOf(source: string, value: number): number | ExactNumber {
  // Both are equal unless the double is another number, or none.
  return spellingOf(source) === spellingOf(String(value)) ? value : exactJson.rawJSON(source);
}

const parts = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

/** The most zeros that {@link plainSpelling} adds. */
const mostZeros = 400;

/** Returns a number without an exponent and without needless zeros, as a rule may name it; with its exponent if that would be very long. */
export function plainSpelling({ rawJSON }: ExactNumber): string {
  const { sign, digits, exponent } = decimalOf(rawJSON)!;
  if (Math.abs(exponent) > mostZeros) return rawJSON;
  if (exponent >= 0) return `${sign}${digits}${'0'.repeat(exponent)}`;
  const padded = digits.padStart(1 - exponent, '0');
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

function spellingOf(text: string): string {
  const decimal = decimalOf(text);
  return decimal ? `${decimal.sign}${decimal.digits}e${decimal.exponent}` : text;
}

/** Splits a number so that all its spellings give the same parts; `undefined` if the text is not a number of JSON. */
function decimalOf(text: string): { sign: string; digits: string; exponent: number } | undefined {
  const found = parts.exec(text);
  if (!found) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = found;
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end--;
  if (end === 0) return { sign: '', digits: '', exponent: 0 };
  return {
    sign,
    digits: digits.slice(0, end),
    exponent: Number(exponent) - fraction.length + digits.length - end,
  };
}
