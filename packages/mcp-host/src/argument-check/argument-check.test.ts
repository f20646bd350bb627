import { describe, expect, it } from 'vitest';
import { compileArgumentCheck } from './argument-check.ts';

const checkOf = (schema: Record<string, unknown>) => compileArgumentCheck({ type: 'object', ...schema });
const check = (properties: Record<string, unknown>, args: Record<string, unknown>, rest = {}) =>
  checkOf({ properties, ...rest }).check(args);
const errorOf = (properties: Record<string, unknown>, args: Record<string, unknown>, rest = {}) => {
  const checked = check(properties, args, rest);
  if (!('error' in checked)) throw new Error('it passed');
  return checked.error;
};

const condition = (when: object, then: object) => ({ if: when, then, else: {} });

describe('an error', () => {
  it('lists every violation with its place, what was wrong and what was given', () => {
    const error = errorOf(
      {
        path: { type: 'string' },
        limit: { type: 'integer', minimum: 1 },
        mode: { enum: ['r', 'w'] },
        edits: {
          type: 'array',
          items: { type: 'object', properties: { from: { type: 'string' } }, required: ['from'] },
        },
      },
      { limit: 0, mode: 'x', edits: [{ from: ['a'] }, 'b', {}] },
      { required: ['path'] },
    );
    expect(error).toMatchObject({
      code: 'invalid_arguments',
      category: 'validation',
      retryable: false,
      may_have_run: false,
    });
    expect(error.message.split(': ').slice(1).join(': ').split('; ').toSorted()).toEqual([
      '/edits/0/from must be a string, is an array of 1',
      '/edits/1 must be an object, is the string "b"',
      '/edits/2/from is missing',
      '/limit must be >= 1, is the number 0',
      '/mode must be one of "r", "w", is the string "x"',
      '/path is missing',
    ]);
    expect(error.hint).toBe(
      'Parameters: path: string (required), limit: integer, mode: "r" | "w", edits: array of object {from: string (required)}',
    );
  });

  it.each([
    [{ type: ['string', 'null'] }, 5.25e300, 'must be a string or null, is the number 5.25e+300'],
    [{ const: 'a' }, 'b', 'must be "a"'],
    [{ multipleOf: 5 }, 7, 'must be a multiple of 5'],
    [{ multipleOf: 0.1 }, 0.35, 'must be a multiple of 0.1'],
    [{ multipleOf: 2e-7 }, 3e-7, 'must be a multiple of 2e-7'],
    [{ exclusiveMaximum: 5 }, 5, 'must be < 5'],
    [{ type: 'string', minLength: 2 }, 'a', 'must be at least 2 characters long'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'must be at most 2 characters long'],
    [{ pattern: '^a' }, 'b', 'must match the pattern "^a"'],
    [{ minItems: 1 }, [], 'must have at least 1 items, is an array of 0'],
    [{ maxItems: 1 }, [1, 2], 'must have at most 1 items'],
    [{ prefixItems: [{}], items: false }, [1, 2], 'must have at most 1 items'],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2], 'must have at most 1 items'],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'must not have the same item twice',
    ],
    [{ contains: { type: 'null' } }, [1], 'must have at least 1 items'],
    [{ minProperties: 1 }, {}, 'must have at least 1 properties'],
    [{ maxProperties: 1 }, { a: 1, b: 1 }, 'must have at most 1 properties'],
    [{ not: { type: 'string' } }, 'a', 'must not be'],
    [false, 'a', 'is not allowed'],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'a', 'must be integer | null, is the string "a"'],
    [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, 'must fit only one of the forms'],
  ])('for %j says what must be', (schema, value, text) => {
    expect(errorOf({ v: schema }, { v: value }).message).toContain(`/v ${text}`);
  });

  it.each([
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, "/v/b is missing, which 'a' requires"],
    [{ propertyNames: { maxLength: 2 } }, { abc: 1 }, '/v/abc has a name that is not allowed'],
    [{ properties: {}, additionalProperties: false }, { 'a/b': 1 }, '/v/a~1b is not a known parameter'],
    [{ properties: {}, unevaluatedProperties: false }, { a: 1 }, '/v/a is not a known parameter'],
    [condition({}, { required: ['a'] }), {}, "fit the tool's schema: /v/a is missing"],
  ])('for %j names the property', (schema, value, text) => {
    expect(errorOf({ v: schema }, { v: value }).message).toContain(text);
  });

  it('of a union tells about the branch that comes nearest', () => {
    const shape = (kind: string, rest: object) => ({
      type: 'object',
      properties: { kind: { const: kind }, ...rest },
      required: ['kind', ...Object.keys(rest)],
    });
    const shapes = {
      oneOf: [shape('circle', { radius: { type: 'number' } }), shape('box', { width: {}, height: {} })],
    };
    expect(errorOf({ v: shapes }, { v: { kind: 'circle', radius: 'big' } }).message).toBe(
      'the arguments don\'t fit the tool\'s schema: /v/radius must be a number, is the string "big"',
    );
    expect(errorOf({ v: shapes }, { v: 5 }).message).toContain('/v must be object {kind: "circle"');
  });

  it.each([
    [
      { file_path: {}, mode: {} },
      { filePath: 'x' },
      { additionalProperties: false },
      'file_path',
      'filePath',
    ],
    [{ path: {}, mode: {} }, { pth: 'x' }, { required: ['path'] }, 'path', 'pth'],
  ])('names the parameter that was probably meant', (properties, args, rest, meant, given) => {
    expect(errorOf(properties, args, rest).hint).toContain(`did you mean '${meant}' instead of '${given}'?`);
  });

  it('says nothing of the kind about names that are far apart', () => {
    expect(errorOf({ path: {} }, { colour: 'x' }, { required: ['path'] }).hint).not.toContain('did you mean');
  });

  it('cuts long values, long lists and long hints', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`parameter${i}`, { type: 'integer' }]),
    );
    const args = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`parameter${i}`, 'secret'.repeat(1_000)]),
    );
    const error = errorOf(properties, args);
    expect(error.message).toMatch(/^60 things are wrong .*and 40 more$/);
    expect(error.message.length).toBeLessThan(4_000);
    expect(error.hint).toContain('and 60 more');
    expect(error.hint!.length).toBeLessThan(2_000);
  });

  it('shows what the caller wrote, not what became of it', () => {
    const error = errorOf({ v: { type: 'integer', minimum: 50 } }, { v: '42' });
    expect(error.message).toContain('must be >= 50, is the string "42"');
  });
});

describe('a number', () => {
  // zod, with which most servers check, takes these. ajv 8 divides doubles and takes none of them.
  it.each([
    [0.1, 0.3],
    [0.01, 1.13],
    [0.01, -4.35],
    [1e-9, 0.000_000_123],
    [0.1, 1e21],
    [2, 2 ** 60],
    [0.5, 0],
  ])('is a multiple as it is written: of %d, %d', (multipleOf, n) => {
    expect(check({ n: { type: 'number', multipleOf } }, { n })).toHaveProperty('args', { n });
  });
});

describe('names of prototypes', () => {
  const hostile = () => JSON.parse('{"__proto__": {"polluted": "1"}, "constructor": {"n": "1"}, "n": "1"}');
  it('are properties like any others', () => {
    const inner = { type: 'object', properties: { n: { type: 'integer' } } };
    const checked = check({ n: { type: 'integer' }, constructor: inner }, hostile(), {
      patternProperties: { proto: { type: 'object', properties: { polluted: { type: 'integer' } } } },
    });
    if (!('args' in checked)) throw new Error(checked.error.message);
    expect(JSON.stringify(checked.args)).toBe('{"__proto__":{"polluted":1},"constructor":{"n":1},"n":1}');
    expect(Object.getPrototypeOf(checked.args)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('are missing unless they are given, and unknown unless they are declared', () => {
    expect(check({}, {}, { required: ['constructor'] })).toHaveProperty('error');
    expect(check({ toString: { type: 'integer' } }, {})).toHaveProperty('args');
    const { message } = errorOf({ n: {} }, hostile(), { additionalProperties: false });
    expect(message).toContain('/__proto__ is not a known parameter');
    expect(message).toContain('/constructor is not a known parameter');
  });

  it('in a schema change nothing either', () => {
    const schema = JSON.parse('{"properties": {"__proto__": {"type": "integer"}, "a": {"type": "integer"}}}');
    expect(checkOf(schema).check({ a: '1' })).toMatchObject({ args: { a: 1 } });
    expect('type' in {}).toBe(false);
  });
});

describe('the cost of a check', () => {
  it('is bounded where schema and arguments make it exponential', () => {
    const branch = (name: string) => ({ properties: { x: { $ref: '#/$defs/n' } }, required: [name] });
    let args: Record<string, unknown> = {};
    for (let i = 0; i < 60; i++) args = { x: args };
    const error = errorOf({ x: { $ref: '#/$defs/n' } }, args, {
      $defs: { n: { type: 'object', anyOf: [branch('a'), branch('b')] } },
    });
    expect(error.message).toContain('too large');
  });

  it('is bounded for a hundred thousand items, right or wrong', () => {
    const schema = { v: { type: 'array', uniqueItems: true, items: { $ref: '#/$defs/i' } } };
    const rest = { $defs: { i: { type: 'integer' } } };
    const many = Array.from({ length: 100_000 }, (_, i) => i);
    expect(check(schema, { v: many }, rest)).toHaveProperty('args');
    const error = errorOf(schema, { v: many.map(() => null) }, rest);
    expect(error.message).toContain(
      '/v/0 must be an integer, is null; the arguments are too large to say what else',
    );
  });

  it('is refused where it would be too great', () => {
    const values = Array.from({ length: 5_000 }, (_, i) => `v${i}`);
    const error = errorOf({ v: { items: { enum: values } } }, { v: Array(2_500).fill('v4999') });
    expect(error).toMatchObject({ code: 'invalid_arguments', may_have_run: false });
    expect(error.message).toContain('too large');
  });
});
