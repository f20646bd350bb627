import { describe, expect, it } from 'vitest';
import { compileArgumentCheck } from '../argument-check.ts';

const checkOf = (schema: Record<string, unknown>) => compileArgumentCheck({ type: 'object', ...schema });
const passes = (schema: Record<string, unknown>, args: Record<string, unknown>) => {
  const check = checkOf(schema);
  expect(check.problem).toBeUndefined();
  return 'args' in check.check(args);
};
const draft07 = { $schema: 'http://json-schema.org/draft-07/schema#' };

describe('references', () => {
  const word = { type: 'string', minLength: 1 };
  it.each([
    ['a pointer into $defs', '#/$defs/word', { $defs: { word } }],
    ['a pointer into definitions', '#/definitions/word', { definitions: { word } }],
    ['a pointer to any place', '#/components/schemas/word', { components: { schemas: { word } } }],
    ['a pointer with escapes', '#/$defs/a~1b%20c', { $defs: { 'a/b c': word } }],
    ['an anchor', '#word', { $defs: { any: { $anchor: 'word', ...word } } }],
    ['a dynamic anchor', '#word', { $defs: { any: { $dynamicAnchor: 'word', ...word } } }],
    ['an identifier', 'word.json', { $defs: { any: { $id: 'word.json', ...word } } }],
    [
      'an identifier under that of the document',
      'https://tools.example/word',
      { $id: 'https://tools.example/all', $defs: { any: { $id: 'word', ...word } } },
    ],
    [
      'a pointer into a part with an identifier',
      'part#/$defs/word',
      { $defs: { part: { $id: 'part', $defs: { word } } } },
    ],
    ['an anchor of draft-07', '#word', { ...draft07, definitions: { any: { $id: '#word', ...word } } }],
  ])('may be %s', (_kind, $ref, rest) => {
    const schema = { properties: { a: { $ref } }, ...rest };
    expect(passes(schema, { a: 'x' })).toBe(true);
    expect(passes(schema, { a: '' })).toBe(false);
  });

  it('are followed through recursive schemas', () => {
    const schema = {
      properties: { tree: { $ref: '#/$defs/node' } },
      $defs: {
        node: {
          type: 'object',
          properties: {
            size: { type: 'integer' },
            inner: { type: 'array', items: { $ref: '#/$defs/node' } },
          },
          required: ['size'],
        },
      },
    };
    expect(passes(schema, { tree: { size: 1, inner: [{ size: 2, inner: [{ size: 3 }] }] } })).toBe(true);
    expect(passes(schema, { tree: { size: 1, inner: [{ size: 2, inner: [{}] }] } })).toBe(false);
  });

  it('may use $dynamicRef and $recursiveRef like $ref, with other keywords beside them', () => {
    const schema = {
      properties: { a: { $dynamicRef: '#w', maxLength: 2 }, b: { $recursiveRef: '#' } },
      required: ['a'],
      $defs: { w: { $dynamicAnchor: 'w', type: 'string' } },
    };
    expect(passes(schema, { a: 'xy', b: { a: 'z' } })).toBe(true);
    expect(passes(schema, { a: 'xyz' })).toBe(false);
    expect(passes(schema, { a: 'xy', b: {} })).toBe(false);
  });
});

describe('older dialects', () => {
  it.each([
    ['a tuple', { items: [{ type: 'integer' }], additionalItems: false }, [1], [1, 2]],
    [
      'a tuple with more items',
      { items: [{ type: 'integer' }], additionalItems: { type: 'null' } },
      [1, null],
      [1, 2],
    ],
    ['an exclusive limit by flag', { minimum: 3, exclusiveMinimum: true }, 4, 3],
    ['nullable', { type: 'string', nullable: true }, null, []],
    ['dependencies', { dependencies: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
    ['dependencies with a schema', { dependencies: { a: { required: ['b'] } } }, { a: 1, b: 1 }, { a: 1 }],
  ])('say %s in their own words', (_kind, schema, right, wrong) => {
    expect(passes({ ...draft07, properties: { v: schema } }, { v: right })).toBe(true);
    expect(passes({ ...draft07, properties: { v: schema } }, { v: wrong })).toBe(false);
  });

  it('ignore what stands beside a reference, and the words of later ones', () => {
    const schema = {
      ...draft07,
      properties: { a: { $ref: '#/definitions/a', maxLength: 1 }, b: { unevaluatedProperties: false } },
      definitions: { a: { type: 'string' } },
    };
    expect(passes(schema, { a: 'long', b: { c: 1 } })).toBe(true);
    expect(passes({ ...schema, $schema: undefined }, { a: 'long' })).toBe(false);
    expect(passes({ ...schema, $schema: undefined }, { b: { c: 1 } })).toBe(false);
  });
});

it('ignores unknown keywords and formats, and ones that the validator alone knows', () => {
  const schema = {
    $async: true,
    discriminator: { propertyName: 'a' },
    'x-order': ['a'],
    properties: { a: { type: 'string', format: 'no-such-format', example: 5 }, b: { format: 'email' } },
  };
  expect(passes(schema, { a: 'x', b: 'no address' })).toBe(true);
  expect(passes(schema, { a: [] })).toBe(false);
});

describe('a schema that cannot be used', () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
  const wide = (count: number, schema: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, schema]));
  it.each([
    [
      'refers outside itself',
      { properties: { a: { $ref: 'https://example.org/s' } } },
      "'https://example.org/s'",
    ],
    ['refers to a file', { properties: { a: { $ref: 'other.json#/a' } } }, 'outside the schema'],
    ['refers to what it lacks', { properties: { a: { $ref: '#/$defs/a' } } }, "doesn't have"],
    ['refers to an inherited name', { properties: { a: { $ref: '#/constructor' } } }, "doesn't have"],
    ['refers to no schema', { properties: { a: { $ref: '#/type' } } }, 'no schema'],
    ['applies itself for ever', { allOf: [{ $ref: '#' }] }, 'without end'],
    ['has a keyword of the wrong kind', { properties: { a: { required: true } } }, '/properties/a/required'],
    ['has an unknown type', { properties: { a: { type: 'text' } } }, '/properties/a/type'],
    [
      'has two parts of one name',
      { $defs: { a: { $anchor: 'x' }, b: { $anchor: 'x', type: 'null' } } },
      '#x',
    ],
    ['is too long', { description: 'x'.repeat(300_000) }, 'characters'],
    ['is too deep', { properties: { a: deep(70) } }, 'levels'],
    ['has too many parts', { properties: wide(3_100, { type: 'null' }) }, 'schema objects'],
    ['has too many references', { properties: wide(1_100, { $ref: '#' }) }, 'references'],
    ['is no JSON', { properties: { a: { const: 5n } } }, 'no JSON'],
  ])('because it %s is a problem, and everything passes', (_why, schema, told) => {
    const check = checkOf(schema);
    expect(check.problem).toContain(told);
    const args = { a: [{}] };
    expect(check.check(args)).toEqual({ args, coerced: [] });
  });

  it('does not fetch what it refers to', () => {
    const check = checkOf({ properties: { a: { $ref: 'http://127.0.0.1:9/' } } });
    expect(check.problem).toContain('outside the schema');
  });
});

it('compiles a schema with so many properties that code nested in code would overflow the stack', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 900 }, (_, i) => [`p${i}`, { type: 'integer' }]),
  );
  expect(passes({ properties }, { p0: 1, p899: 2 })).toBe(true);
  expect(passes({ properties }, { p0: 1, p899: true })).toBe(false);
});

describe('patterns', () => {
  it('run in linear time', () => {
    const schema = {
      properties: { a: { pattern: '^(a+)+$' }, b: { pattern: '^b$' } },
      patternProperties: { '^(x+x+)+y$': false },
    };
    const long = 'a'.repeat(50_000);
    expect(passes(schema, { a: long })).toBe(true);
    expect(passes(schema, { a: `${long}!` })).toBe(false);
    expect(passes(schema, { ['x'.repeat(50_000)]: 1 })).toBe(true);
    expect(passes(schema, { xxy: 1 })).toBe(false);
    expect(passes(schema, { b: 'a' })).toBe(false);
  });

  it.each([
    ['^\\s$', '\u00a0', 'x'],
    ['^[\\s,]$', '\ufeff', 'x'],
    ['^\\S$', 'x', '\u2003'],
    ['^\\u00e9\\/$', 'é/', 'e/'],
    ['^\\p{Lu}$', 'É', 'é'],
    ['^.$', '😀', '😀😀'],
    ['^(?<year>\\d{4})$', '2026', '226'],
    ['b', 'abc', 'ac'],
  ])('mean what they mean in ECMAScript: %s', (pattern, right, wrong) => {
    expect(passes({ properties: { a: { pattern } } }, { a: right })).toBe(true);
    expect(passes({ properties: { a: { pattern } } }, { a: wrong })).toBe(false);
  });

  it('that have no linear form are noted and left out, and what they might allow passes', () => {
    const check = checkOf({
      properties: { a: { type: 'string', pattern: '^(?!b)', minLength: 2 } },
      patternProperties: { '(.)\\1': { type: 'integer' } },
      additionalProperties: false,
    });
    expect(check.problem).toBeUndefined();
    expect(check.unchecked).toEqual(['^(?!b)', '(.)\\1']);
    expect(check.check({ a: 'bb', oo: 'x' })).toHaveProperty('args');
    expect(check.check({ a: 'b' })).toHaveProperty('error');
  });

  it('that have none, where leaving them out would refuse more, make the schema unusable', () => {
    const check = checkOf({ properties: { a: { not: { pattern: '^(?!b)' } } } });
    expect(check.problem).toContain('^(?!b)');
    expect(check.check({ a: 'c' })).toHaveProperty('args');
  });
});
