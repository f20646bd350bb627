import { SignalboxError } from '@signalbox/protocol';

/** A text with `{name}` placeholders, as its literal pieces and the names between them. */
export type Template = readonly (string | { readonly name: string })[];

/** The values that placeholders may take. */
export type Values = Readonly<Record<string, unknown>>;

/** A JSON value whose texts may hold placeholders. */
export type ValueTemplate =
  | { constant: unknown }
  | { text: Template }
  | { list: readonly ValueTemplate[] }
  | { entries: readonly (readonly [string, ValueTemplate])[] };

const pieces = /\{\{|\}\}|\{([^{}]+)\}|[{}]/g;

/** Parses a text with `{name}` placeholders; `{{` and `}}` are braces. Returns `undefined` if a brace has no partner. */
export function parseTemplate(text: string): Template | undefined {
  const parts: (string | { name: string })[] = [];
  let literal = '';
  let end = 0;
  for (const match of text.matchAll(pieces)) {
    literal += text.slice(end, match.index);
    end = match.index + match[0].length;
    if (match[1] !== undefined) {
      if (literal !== '') parts.push(literal);
      literal = '';
      parts.push({ name: match[1] });
    } else if (match[0].length === 1) return undefined;
    else literal += match[0][0];
  }
  literal += text.slice(end);
  if (literal !== '') parts.push(literal);
  return parts;
}

/** Returns the name in a text that is one placeholder and nothing else; `undefined` for any other text. */
export function soleName(template: Template): string | undefined {
  const [only, ...more] = template;
  return typeof only === 'object' && more.length === 0 ? only.name : undefined;
}

/** Lists the names of the placeholders in a text. */
export function namesIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === 'string' ? [] : [part.name]));
}

/**
 * Fills in the placeholders of a value. A placeholder that is a whole text becomes its value and keeps its type. Keys
 * and items that have no value are left out.
 */
export function fillValue(template: ValueTemplate, values: Values): unknown {
  if ('constant' in template) return template.constant;
  if ('text' in template) {
    const sole = soleName(template.text);
    return sole === undefined ? fillText(template.text, values, (value) => value) : valueFor(values, sole);
  }
  if ('list' in template) {
    return template.list.map((item) => fillValue(item, values)).filter((item) => item !== undefined);
  }
  const filled = template.entries.map(([key, value]) => [key, fillValue(value, values)] as const);
  return Object.fromEntries(filled.filter(([, value]) => value !== undefined));
}

/** Fills in the placeholders of a text, each as `encode` writes it. Throws `SignalboxError` `invalid_arguments` for one without a value. */
export function fillText(
  template: Template,
  values: Values,
  encode: (value: string, name: string) => string,
): string {
  return template
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = valueFor(values, part.name);
      if (value === undefined || value === null) throw badArgument(part.name, 'is needed here');
      return encode(textOf(value), part.name);
    })
    .join('');
}

function valueFor(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Writes a value for a text or a query: a text unchanged, anything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the error for a value that can't be sent. */
export function badArgument(name: string, what: string): SignalboxError {
  return new SignalboxError('invalid_arguments', `${name}: ${what}`);
}
