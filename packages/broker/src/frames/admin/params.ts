import type { AdminRefusal, Params } from './operation.ts';

/** Reads one parameter. `read` returns `undefined` for a value that it must not have. */
export interface Field<T> {
  expected: string;
  read(value: unknown): T | undefined;
}

type Fields = Record<string, Field<unknown>>;
type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Reads parameters. The first one that is not as it must be is refused by name. */
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

export const text: Field<string> = {
  expected: 'a text of at most 256 characters',
  read: (value) => (typeof value === 'string' && value.length <= 256 ? value : undefined),
};

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

/** Epoch milliseconds. */
export const time = wholeNumber(0);
export const seq = wholeNumber(1);
export const limit = wholeNumber(1, 1000);

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
