import { parseJson } from '@signalbox/protocol';

/** Whether the value is of that type of JSON Schema; a number without a fraction is an `integer` too. */
export function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

/**
 * The one other way to write a value, if nothing is lost by it. A text becomes what it is the JSON of: a number that is
 * written as JSON writes it and that a double holds exactly, `true` or `false`, an object or an array; never `null`. A
 * number of at most 15 digits and a boolean become their JSON text. Nothing becomes an array of itself.
 */
export function otherForm(value: unknown): unknown {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return isPlain(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  if (/^-?\d/.test(value)) return numberOf(value);
  return /^\s*[[{]/.test(value) ? containerOf(value) : undefined;
}

/** Longer ones may have been rounded when they were parsed, and their text would make that look deliberate. */
function isPlain(value: number): boolean {
  const text = String(value);
  return /^-?\d+(\.\d+)?$/.test(text) && !Object.is(value, -0) && text.replace(/\D/g, '').length <= 15;
}

function numberOf(text: string): number | undefined {
  const value = Number(text);
  if (!Number.isFinite(value) || JSON.stringify(value) !== text) return undefined;
  return Number.isSafeInteger(value) || !Number.isInteger(value) ? value : undefined;
}

const notExact = new Error('a number is not exact');

function containerOf(text: string): unknown {
  try {
    // Bounded like the text of the arguments themselves.
    const value = parseJson(text);
    const names = countNames(value);
    JSON.parse(text, (_name, inner, context?: { source?: string }) => {
      if (typeof inner === 'number' && !isExact(context?.source ?? '')) throw notExact;
      return inner;
    });
    // A name that is there twice has lost one of its values.
    return names === countColons(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a double holds this number: besides those above any of 15 digits that neither over- nor underflows. */
function isExact(source: string): boolean {
  if (numberOf(source) !== undefined) return true;
  const value = Number(source);
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '');
  if (digits === '') return !source.startsWith('-');
  const magnitude = Math.abs(value);
  return digits.length <= 15 && magnitude < 1e300 && magnitude > 1e-300;
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + countNames(each), 0);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
}

/** Outside strings each colon follows a name. */
function countColons(json: string): number {
  let count = 0;
  for (let at = 0; at < json.length; at++) {
    if (json[at] === '"') at = endOfString(json, at);
    else if (json[at] === ':') count++;
  }
  return count;
}

function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === '\\') at++;
    else if (json[at] === '"') return at;
  }
  return json.length;
}
