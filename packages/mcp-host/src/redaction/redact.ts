import { mayHoldEscapes, spellingsOf } from './spellings.ts';

/** The shortest value that is replaced. Shorter ones are words and numbers rather than secrets; replacing them would garble the text. */
export const shortestSecret = 6;

/** The options of {@link redactorOf}. */
export interface RedactorOptions {
  /** Returns what stands in place of a value, from the form in which it was found; by default `[redacted]`. */
  mark?: (found: string) => string;
  /** Values of fewer characters stay; by default {@link shortestSecret}. */
  shortest?: number;
}

/**
 * Makes a function that replaces these values in a text. It also finds them in the forms that URLs and JSON use, no matter which of their
 * characters are escaped.
 */
export function redactorOf(
  values: readonly string[],
  { mark = () => '[redacted]', shortest = shortestSecret }: RedactorOptions = {},
): (text: string) => string {
  const secrets = formsOf(values, shortest);
  const whole = [...new Set(values)].filter((value) => value.length >= shortest).sort(longestFirst);
  let find: ReturnType<typeof spellingsOf> | undefined;
  return (text) => {
    const rest = secrets.reduce((left, secret) => left.replaceAll(secret, mark), text);
    if (whole.length === 0 || !mayHoldEscapes.test(rest)) return rest;
    find ??= spellingsOf(whole, shortest);
    return replaced(rest, find(rest), mark);
  };
}

/** Replaces what stands at these places, which are in order. */
function replaced(
  text: string,
  places: readonly [start: number, end: number][],
  mark: (found: string) => string,
): string {
  let from = 0;
  const parts = places.flatMap(([start, end]) => {
    const before = text.slice(from, start);
    from = end;
    return [before, mark(text.slice(start, end))];
  });
  return parts.length === 0 ? text : parts.join('') + text.slice(from);
}

/** Removes the end of a secret from the beginning of a text that was cut there, even if little of it is left. */
export function withoutCutSecret(text: string, values: readonly string[]): string {
  const lengths = formsOf(values, shortestSecret).map((secret) => {
    for (let at = 1; at < secret.length; at++)
      if (text.startsWith(secret.slice(at))) return secret.length - at;
    return 0;
  });
  return text.slice(Math.max(0, ...lengths));
}

/** Lists each value in every form in which it may be written, the longest first. */
function formsOf(values: readonly string[], shortest: number): string[] {
  const forms = values.flatMap((value) => [
    value,
    encodeURIComponent(value.toWellFormed()),
    formEncoded(value),
    JSON.stringify(value).slice(1, -1),
  ]);
  return [...new Set(forms)].filter((secret) => secret.length >= shortest).sort(longestFirst);
}

function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

/** Encodes a value as an HTML form sends it. */
export function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}
