import type { AdminRefusal, Params } from './operation.ts';

/** A reader of one parameter. */
export interface Field<T> {
  /** Completes the sentence "must be …" of a refusal. */
  expected: string;
  /** Returns the value, or `undefined` if the parameter must not have it. */
  read(value: unknown): T | undefined;
}

type Fields = Record<string, Field<unknown>>;
type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Reads the parameters of an operation. Refuses the first one that is missing or has a wrong value. */
export function readParams<R extends Fields, O extends Fields>(
  params: Params,
  required: R,
  optional: O,
): { values: Values<R> & Partial<Values<O>> } | AdminRefusal {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries({ ...required, ...optional })) {
    const given = Object.hasOwn(params, name) ? params[name] : undefined;
    if (given === undefined && !Object.hasOwn(required, name)) continue;
    const value = field.read(given);
    if (value === undefined) return badParam(name, field.expected);
    values[name] = value;
  }
  return { values: values as Values<R> & Partial<Values<O>> };
}

/** Refuses a parameter and says what it must be. */
export function badParam(name: string, expected: string): AdminRefusal {
  const field = `params.${name}`;
  return { refusal: { code: 'bad_frame', field, message: `field '${field}' must be ${expected}` } };
}

/** A text of at most 256 characters. */
export const text: Field<string> = {
  expected: 'a text of at most 256 characters',
  read: (value) => (typeof value === 'string' && value.length <= 256 ? value : undefined),
};

/** Makes a reader of a whole number from `min` to `max`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): Field<number> {
  return {
    expected:
      max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min}` : `a whole number from ${min} to ${max}`,
    read: (value) =>
      Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
        ? (value as number)
        : undefined,
  };
}

/** A time in epoch milliseconds. */
export const time = wholeNumber(0);
/** A sequence number. */
export const seq = wholeNumber(1);
/** The most entries of an answer. */
export const limit = wholeNumber(1, 1000);

/** A list of sequence numbers, which loses repeated ones. */
export const seqs: Field<number[]> = {
  expected: 'a list of 1 to 1000 sequence numbers',
  read: (value) =>
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 1000 &&
    value.every((one) => seq.read(one) !== undefined)
      ? [...new Set(value as number[])]
      : undefined,
};
