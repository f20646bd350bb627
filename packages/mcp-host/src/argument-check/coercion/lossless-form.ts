import { parseJson, repeatedName } from '@signalbox/protocol';

/**
 * Returns the only other form of a value that loses nothing, or `undefined`. The form of a text is the value of which it is the JSON: a
 * number in JSON's own notation that a double holds exactly, `true` or `false`, an object or an array; never `null`. The form of a boolean,
 * and of a number of at most 15 digits, is its JSON text.
 */
export function losslessForm(value: unknown): unknown {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return isShort(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  if (/^-?\d/.test(value)) return numberOf(value);
  return /^\s*[[{]/.test(value) ? containerOf(value) : undefined;
}

/**
 * Tells whether a number is short. Longer ones may have been rounded when they were parsed, and their text would make that look deliberate.
 */
function isShort(value: number): boolean {
  const text = String(value);
  return /^-?\d+(\.\d+)?$/.test(text) && !Object.is(value, -0) && text.replace(/\D/g, '').length <= 15;
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  if (!Number.isFinite(value) || JSON.stringify(value) !== text) return undefined;
  return Number.isSafeInteger(value) || !Number.isInteger(value) ? value : undefined;
}

const inexact = new Error('a number is not exact');

function containerOf(text: string): unknown {
  try {
    // It is bounded like the text of the arguments themselves.
    const value = parseJson(text);
    JSON.parse(text, (_name, inner, context?: { source?: string }) => {
      if (typeof inner === 'number' && !isExact(context?.source ?? '')) throw inexact;
      return inner;
    });
    // If a name occurs twice, one of its values would be lost.
    return repeatedName(text) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Tells whether a double holds a number exactly: those of {@link numberOf}, and any of 15 digits that neither over- nor underflows. */
function isExact(source: string): boolean {
  if (numberOf(source) !== undefined) return true;
  const magnitude = Math.abs(Number(source));
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '');
  if (digits === '') return !source.startsWith('-');
  return digits.length <= 15 && magnitude < 1e300 && magnitude > 1e-300;
}
