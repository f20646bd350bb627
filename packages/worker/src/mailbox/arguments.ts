import { messageOf, parseJson } from '@signalbox/protocol';

/** One argument of a tool, as in its JSON Schema. Without a `type` it may be any JSON value. */
export type Field =
  | { type: 'string'; description: string; minLength?: number; maxLength?: number; enum?: readonly string[] }
  | { type: 'integer'; description: string; minimum: number; maximum: number; default?: number }
  | { type: 'boolean'; description: string }
  | { type?: undefined; description: string };

/** The arguments of a tool by name. */
export type Fields = Readonly<Record<string, Field>>;

type ValueOf<F extends Field> = F extends { type: 'string' }
  ? string
  : F extends { type: 'integer' }
    ? number
    : F extends { type: 'boolean' }
      ? boolean
      : unknown;

/** The checked arguments of a tool; those named in `R` are always there. */
export type Values<F extends Fields, R extends keyof F> = { [K in R]: ValueOf<F[K]> } & {
  [K in Exclude<keyof F, R>]?: ValueOf<F[K]> | undefined;
};

/** Checked arguments, or the problem with them. */
export type ReadArguments<T> = { value: T; problem?: undefined } | { problem: string; value?: undefined };

/** Reads the arguments of a call, an object or the JSON text of one. A problem names the field and the rule for it. */
export function readArguments<F extends Fields, R extends keyof F>(
  fields: F,
  required: readonly R[],
  given: unknown,
): ReadArguments<Values<F, R>> {
  const object = objectOf(given);
  if (object.problem !== undefined) return object;
  const value: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(object.value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) {
      return { problem: `there is no argument '${name}'; there are: ${Object.keys(fields).join(', ')}` };
    }
    // Models that must fill in every argument pass null for those that they would leave out.
    if (one === null && field.type !== undefined) continue;
    const rule = brokenRule(field, one);
    if (rule !== undefined) return { problem: `'${name}' must be ${rule}` };
    value[name] = one;
  }
  const missing = required.find((name) => value[name as string] === undefined);
  if (missing !== undefined) return { problem: `'${String(missing)}' is missing` };
  return { value: value as Values<F, R> };
}

function objectOf(given: unknown): ReadArguments<Record<string, unknown>> {
  let value: unknown = given ?? {};
  if (typeof value === 'string') {
    try {
      value = parseJson(value);
    } catch (thrown) {
      return { problem: `the arguments are not an object: ${messageOf(thrown)}` };
    }
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { problem: 'the arguments are not an object' };
  }
  return { value: value as Record<string, unknown> };
}

/** Returns the rule that a value breaks, if it breaks one. */
function brokenRule(field: Field, value: unknown): string | undefined {
  if (field.type === 'string') {
    if (field.enum) {
      return typeof value === 'string' && field.enum.includes(value)
        ? undefined
        : `one of: ${field.enum.join(', ')}`;
    }
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field;
    if (typeof value !== 'string' || value.length < minLength || value.length > maxLength) {
      return `a text of ${minLength} to ${maxLength} characters`;
    }
  }
  if (field.type === 'boolean' && typeof value !== 'boolean') return 'true or false';
  if (field.type === 'integer') {
    const { minimum, maximum } = field;
    if (!Number.isInteger(value) || Number(value) < minimum || Number(value) > maximum) {
      return `a whole number from ${minimum} to ${maximum}`;
    }
  }
  return undefined;
}
