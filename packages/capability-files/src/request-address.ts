import { SignalboxError } from '@signalbox/protocol';
import {
  badArgument,
  fillText,
  fillValue,
  type Template,
  textOf,
  type Values,
  type ValueTemplate,
} from './template.ts';

/** The URL of `base` followed by a path, with the values of its placeholders percent-encoded. None of them can leave its segment. */
export function fillAddress(base: string, path: Template, values: Values): URL {
  const filled = fillText(path, values, (value, name) => {
    if (value === '') throw badArgument(name, 'must not be empty');
    return encoded(value, name);
  });
  const moves = filled.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
  if (moves) throw new SignalboxError('invalid_arguments', "no part of the path may come out as '.' or '..'");
  return new URL(base.replace(/\/$/, '') + filled);
}

/** Appends the query: lists repeat their key, keys without a value are left out. */
export function addQuery(url: URL, params: ValueTemplate, values: Values): void {
  const filled = Object.entries(fillValue(params, values) as Record<string, unknown>);
  const pairs = filled.flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((item) => item !== null)
      .map((item) => `${encoded(key, key)}=${encoded(textOf(item), key)}`),
  );
  if (pairs.length > 0) url.search = [url.search.slice(1), ...pairs].filter(Boolean).join('&');
}

/** Header values as filled in; those without a value are left out. */
export function fillHeaders(headers: ValueTemplate, values: Values): [string, string][] {
  return Object.entries(fillValue(headers, values) as Record<string, unknown>)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const text = textOf(value);
      if (!isHeaderValue(text)) {
        throw badArgument(name, 'a header takes one line of Latin letters, digits and signs only');
      }
      return [name.toLowerCase(), text];
    });
}

export function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

export function encoded(text: string, name: string): string {
  if (!text.isWellFormed()) throw badArgument(name, 'holds half of a character');
  return encodeURIComponent(text);
}
