import { type ExactNumber, isExactNumber, isJsonObject } from '@signalbox/protocol';

/** Returns a copy of JSON data with the nearest double in place of each `ExactNumber`. */
export function withRoundedNumbers<T>(data: T): T {
  return rounded(data) as T;
}

function rounded(value: unknown): unknown {
  if (isExactNumber(value)) return roundedNumber(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rounded(inner)]));
}

function roundedNumber({ rawJSON }: ExactNumber): number {
  const value = Number(rawJSON);
  return Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
}

/**
 * Puts the numbers of `given` back to their places in data that was made of its rounded form. Where a number became a text, the text gets
 * all its digits.
 */
export function withExactNumbers(data: unknown, given: unknown): unknown {
  if (isExactNumber(given)) return typeof data === 'string' ? given.rawJSON : given;
  if (Array.isArray(data) && Array.isArray(given))
    return data.map((item, at) => withExactNumbers(item, given[at]));
  if (!isJsonObject(data) || !isJsonObject(given)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([name, inner]) => [
      name,
      Object.hasOwn(given, name) ? withExactNumbers(inner, given[name]) : inner,
    ]),
  );
}
