import { describe, expect, it } from 'vitest';
import { compileArgumentCheck } from '../argument-check.ts';

const checkOf = (schema: Record<string, unknown>) => compileArgumentCheck({ type: 'object', ...schema });
const check = (properties: Record<string, unknown>, args: Record<string, unknown>, rest = {}) =>
  checkOf({ properties, ...rest }).check(args);
const condition = (when: object, then: object) => ({ if: when, then, else: {} });

describe('coercion', () => {
  const tree = { type: 'object', properties: { n: { type: 'integer' }, t: { $ref: '#/$defs/tree' } } };
  it.each([
    ['an integer', { type: 'integer' }, '42', 42],
    ['a number', { type: 'number' }, '0.5', 0.5],
    ['a boolean', { type: 'boolean' }, 'false', false],
    ['a string', { type: 'string' }, 42, '42'],
    ['one of several types', { type: ['integer', 'null'] }, '42', 42],
    ['an enum', { enum: [1, 2] }, '2', 2],
    ['an enum of texts', { type: 'string', enum: ['1', '2'] }, 2, '2'],
    ['a constant', { const: true }, 'true', true],
    ['an array', { type: 'array' }, '[1, 2]', [1, 2]],
    ['items', { items: { type: 'integer' } }, [1, '2'], [1, 2]],
    ['a tuple', { prefixItems: [{ type: 'string' }], items: { type: 'integer' } }, [1, '2'], ['1', 2]],
    ['an object', { type: 'object' }, '{"a":1}', { a: 1 }],
    ['what a text holds', { type: 'array', items: { type: 'integer' } }, '["1", 2]', [1, 2]],
    [
      'properties by pattern',
      { patternProperties: { '^n': { type: 'integer' } } },
      { n1: '1', m: '1' },
      { n1: 1, m: '1' },
    ],
    [
      'other properties',
      { properties: { a: {} }, additionalProperties: { type: 'integer' } },
      { a: '1', b: '1' },
      { a: '1', b: 1 },
    ],
    ['a recursive schema', { $ref: '#/$defs/tree' }, { t: { t: { n: '3' } } }, { t: { t: { n: 3 } } }],
    ['all of several', { allOf: [{ type: 'integer' }, { minimum: 3 }] }, '3', 3],
    ['any of several', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, '3', 3],
    ['any of several that agree', { anyOf: [{ type: 'integer' }, { type: 'number' }] }, '3', 3],
    [
      'one of several',
      {
        oneOf: [
          { type: 'integer', maximum: 5 },
          { type: 'integer', minimum: 9 },
        ],
      },
      '10',
      10,
    ],
    ['a condition', condition({ required: ['a'] }, tree), { a: 1, n: '1' }, { a: 1, n: 1 }],
    ['a dependent schema', { dependentSchemas: { a: tree } }, { a: 1, n: '1' }, { a: 1, n: 1 }],
  ])('gives %s what it asks for', (_kind, schema, given, sent) => {
    const args = { v: given };
    const before = structuredClone(args);
    const checked = check({ v: schema }, args, { $defs: { tree } });
    expect(checked).toMatchObject({ args: { v: sent } });
    expect(args).toEqual(before);
  });

  it.each([
    ['null for an optional parameter', { a: { type: 'string' } }, [], { a: null }, {}],
    ['null for an optional one by reference', { a: { $ref: '#/$defs/text' } }, [], { a: null }, {}],
    [
      'null for one of several kinds',
      { a: { anyOf: [{ type: 'string' }, { type: 'array' }] } },
      [],
      { a: null },
      {},
    ],
    [
      'null inside an object',
      { o: { properties: { a: { enum: ['x'] } } } },
      [],
      { o: { a: null } },
      { o: {} },
    ],
    ['nothing for a required one with a default', { a: { default: [1] } }, ['a'], {}, { a: [1] }],
    [
      'nothing for one inside',
      { o: { required: ['a'], properties: { a: { default: 0 } } } },
      [],
      { o: {} },
      { o: { a: 0 } },
    ],
  ])('takes %s as its schema means it', (_kind, properties, required, given, sent) => {
    const before = structuredClone(given);
    const checked = check(properties, given, { required, $defs: { text: { type: 'string' } } });
    expect(checked).toMatchObject({ args: sent });
    expect('args' in checked && checked.args).toEqual(sent);
    expect('coerced' in checked && checked.coerced).toHaveLength(1);
    expect(given).toEqual(before);
  });

  it.each([
    ['null without a type', { a: { description: 'the assignee' } }, { a: null }],
    ['null that its schema takes', { a: { type: ['string', 'null'] } }, { a: null }],
    ['null by a union', { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, { a: null }],
    ['nothing for an optional one with a default', { a: { type: 'integer', default: 3 } }, {}],
  ])('leaves %s as it is', (_kind, properties, args) => {
    expect(check(properties, args)).toEqual({ args, coerced: [] });
  });

  it('refuses null for a required parameter, and a missing one without a default', () => {
    expect(check({ a: { type: 'string', default: 'x' } }, { a: null }, { required: ['a'] })).toHaveProperty(
      'error',
    );
    expect(check({ a: { type: 'string' } }, {}, { required: ['a'] })).toHaveProperty('error');
  });

  it('tells the pointers of what it rewrote, and of nothing else', () => {
    const schema = {
      'a/b': { type: 'integer' },
      list: { items: { type: 'boolean' } },
      text: { type: 'array' },
      s: {},
    };
    const args = { 'a/b': '1', list: [true, 'true'], text: '["1"]', s: '5' };
    expect(check(schema, args)).toEqual({
      args: { 'a/b': 1, list: [true, true], text: ['1'], s: '5' },
      coerced: ['/a~1b', '/list/1', '/text'],
    });
  });

  it.each([
    ['a text that fits', { type: ['string', 'integer'] }, '42'],
    ['a text that one branch takes', { anyOf: [{ type: 'integer' }, { type: 'string' }] }, '42'],
    ['a number that fits', { type: ['string', 'integer'] }, 42],
    ['what no schema speaks of', {}, '42'],
  ])('never touches %s', (_kind, schema, value) => {
    const args = { v: value };
    const checked = check({ v: schema }, args);
    expect(checked).toEqual({ args, coerced: [] });
    expect('args' in checked && checked.args).toBe(args);
  });

  it.each([
    ['null', { type: 'null' }, 'null'],
    ['a text for null', { type: 'string' }, null],
    ['an array of one', { type: 'array', items: { type: 'string' } }, 'a'],
    ['a rounded number', { type: 'integer' }, '9007199254740993'],
    ['a number with a leading zero', { type: 'integer' }, '042'],
    ['a fraction for an integer', { type: 'integer' }, '4.5'],
    ['one for true', { type: 'boolean' }, 1],
    [
      'a number that the branch refuses',
      { anyOf: [{ type: 'integer', minimum: 50 }, { type: 'null' }] },
      '42',
    ],
    [
      'one of two ways',
      {
        oneOf: [
          { properties: { a: { type: 'integer' }, b: { type: 'string' } } },
          { properties: { a: { type: 'string' }, b: { type: 'integer' } } },
        ],
      },
      { a: '1', b: '2' },
    ],
  ])('never makes %s', (_kind, schema, value) => {
    expect(check({ v: schema }, { v: value }, { required: ['v'] })).toHaveProperty('error');
  });
});
