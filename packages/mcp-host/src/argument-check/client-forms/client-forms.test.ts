import type { Tool } from '@signalbox/protocol';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { ClientForms } from './client-forms.ts';

const of = (properties: object, more: object = {}): Tool['inputSchema'] => ({
  type: 'object',
  properties: { ...properties },
  ...more,
});
const [string, number, integer] = [{ type: 'string' }, { type: 'number' }, { type: 'integer' }];
const list = (more: object) => of({ p: { type: 'array', ...more } });
const [claude, codex] = ['claude-code', 'codex-mcp-client'];
const [gemini, qwen] = ['gemini-cli-mcp-client', 'qwen-cli-mcp-client'];
const pair = [number, number];
const mixed = [string, number];
const draft07 = { $schema: 'http://json-schema.org/draft-07/schema#' };

test.each<[string, object, string, object]>([
  [
    'allOf is merged',
    of({ c: string }, { allOf: [of({ a: string }, { required: ['a'] })] }),
    claude,
    of({ c: string, a: string }, { required: ['a'] }),
  ],
  [
    'allOf with references and closed ends is merged',
    {
      type: 'object',
      allOf: [{ $ref: '#/$defs/A' }, of({ b: integer })],
      unevaluatedProperties: false,
      $defs: { A: of({ a: string }) },
    },
    claude,
    { ...of({ b: integer, a: string }), additionalProperties: false, $defs: { A: of({ a: string }) } },
  ],
  [
    'branches that differ in one constant are one',
    {
      type: 'object',
      oneOf: [
        of({ k: { const: 'x' }, a: string }, { required: ['k'] }),
        of({ k: { const: 'y' }, a: string }, { required: ['k'] }),
      ],
    },
    claude,
    of({ k: { enum: ['x', 'y'] }, a: string }, { required: ['k'] }),
  ],
  [
    'one of all properties is counted',
    of(
      { a: string, b: string },
      { additionalProperties: false, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    ),
    claude,
    of({ a: string, b: string }, { additionalProperties: false, minProperties: 1, maxProperties: 1 }),
  ],
  ['a list of anything', list({}), codex, list({ items: {} })],
  [
    'a pair',
    list({ prefixItems: pair, minItems: 2, maxItems: 2 }),
    codex,
    list({ prefixItems: pair, minItems: 2, maxItems: 2, items: number }),
  ],
  [
    'a closed tuple',
    list({ prefixItems: mixed, items: false }),
    codex,
    list({ prefixItems: mixed, items: { anyOf: mixed }, maxItems: 2 }),
  ],
  ['an open tuple', list({ prefixItems: mixed }), codex, list({ prefixItems: mixed, items: {} })],
  [
    'a tuple of draft-07',
    { ...list({ items: pair, additionalItems: false }), ...draft07 },
    codex,
    list({ prefixItems: pair, items: number, maxItems: 2 }),
  ],
  [
    'numbers without a type',
    of({ p: { enum: [1, 2] }, q: { const: null } }),
    codex,
    of({ p: { enum: [1, 2], type: 'number' }, q: { const: null, type: 'null' } }),
  ],
  [
    'what OpenAPI calls nullable',
    of({ p: { ...string, nullable: true } }),
    codex,
    of({ p: { type: ['string', 'null'] } }),
  ],
  [
    'parts of parts',
    of({ p: { anyOf: [list({}), { $ref: '#/$defs/L' }, true] } }, { $defs: { L: { type: 'array' } } }),
    codex,
    of(
      { p: { anyOf: [list({ items: {} }), { $ref: '#/$defs/L' }, {}] } },
      { $defs: { L: { type: 'array', items: {} } } },
    ),
  ],
])('%s', (_title, schema, client, form) => {
  const { forms, unshown } = new ClientForms().of(schema as never);
  expect([forms[client], unshown]).toEqual([form, []]);
});

test.each<[string, object, object]>([
  [
    'one of two required properties',
    of({ a: string, b: string }, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    { client: 'claude', how: 'left out', why: 'it has anyOf at the top' },
  ],
  [
    'branches with properties of their own',
    {
      type: 'object',
      oneOf: [
        of({ k: { const: 'x' }, a: string }, { required: ['k', 'a'] }),
        of({ k: { const: 'y' } }, { required: ['k'] }),
      ],
    },
    { client: 'claude', how: 'left out', why: 'it has oneOf at the top' },
  ],
  [
    'one of some of many properties',
    of(Object.fromEntries([...'abcdefg'].map((name) => [name, string])), {
      additionalProperties: false,
      anyOf: [{ required: ['a'] }, { required: ['b'] }],
    }),
    { client: 'claude', how: 'left out', why: 'it has anyOf at the top' },
  ],
  [
    'branches that differ in two properties',
    {
      type: 'object',
      anyOf: [
        of({ a: { enum: ['p', 'x'] }, b: { enum: ['p', '1'] } }),
        of({ a: { enum: ['p', 'y'] }, b: { enum: ['p', '2'] } }),
      ],
    },
    { client: 'claude', how: 'left out', why: 'it has anyOf at the top' },
  ],
  [
    'names by pattern that another branch refuses',
    {
      type: 'object',
      allOf: [{ patternProperties: { '^z': string } }, of({ z: number }, { additionalProperties: false })],
    },
    { client: 'claude', how: 'left out', why: 'it has allOf at the top' },
  ],
  [
    'one of two kinds that overlap in texts nobody made',
    of({}, { oneOf: [of({ a: { ...string, pattern: '^q' } }), of({ a: { ...string, pattern: 'r$' } })] }),
    { client: 'claude', how: 'left out', why: 'it has oneOf at the top' },
  ],
  [
    'branches that refuse each other',
    of({ a: string }, { allOf: [of({ b: string }, { additionalProperties: false })] }),
    { client: 'claude', how: 'left out', why: 'it has allOf at the top' },
  ],
  [
    'a pair that others follow',
    list({ prefixItems: pair, items: string }),
    {
      client: 'codex',
      how: 'changed',
      why: 'it shows prefixItems as if they were like the items behind them',
    },
  ],
  [
    'names by pattern alone',
    of({ p: { type: 'object', patternProperties: { '^x': string }, additionalProperties: false } }),
    { client: 'codex', how: 'changed', why: 'it shows an object with patternProperties as an empty one' },
  ],
  [
    'a list whose pattern nobody can check',
    list({ contains: { ...string, pattern: '(?=a)b' } }),
    { client: 'codex', how: 'changed', why: 'it shows a list as one of texts' },
  ],
])('No form means the same as %s.', (_title, schema, unshown) => {
  const { forms, unshown: found } = new ClientForms().of(schema as never);
  expect([forms[claude], forms[codex], found]).toEqual([undefined, undefined, [unshown]]);
});

it('names the dialect to clients that read a schema without one as draft-07, where that makes a difference', () => {
  const tuple = list({ prefixItems: mixed, items: false });
  const form = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...tuple };
  expect(new ClientForms().of(tuple).forms).toMatchObject({ [gemini]: form, [qwen]: form });
  const isAccepted = { p: ['a', 1] };
  expect(new Ajv({ strict: false }).validate(tuple as object, isAccepted)).toBe(false);
  expect(new Ajv2020({ strict: false }).validate(form as object, isAccepted)).toBe(true);
  for (const same of [list({ items: false }), { ...tuple, ...draft07 }])
    expect(new ClientForms().of(same).forms[gemini]).toBeUndefined();
});

it('leaves schemas alone that all clients show as they are meant', () => {
  for (const schema of [
    of({ a: { oneOf: [string, integer] }, b: { type: 'array', items: {} }, c: { enum: ['x'] }, d: {} }),
    of({ a: list({ items: number }) }, { not: { required: ['z'] } }),
    of({ a: { type: 'object', additionalProperties: true } }, { additionalProperties: false }),
  ])
    expect(new ClientForms().of(schema)).toEqual({ forms: {}, unshown: [] });
});

it('spends half a second in a minute on comparisons, and finds the forms of the other schemas later', () => {
  let now = 0;
  const forms = new ClientForms(() => {
    now += 10;
    return now;
  });
  const schemas = Array.from({ length: 110 }, (_, i) => of({ p: { enum: [i] } }));
  const found = () => schemas.filter((schema) => forms.of(schema).forms[codex]).length;
  expect([found(), found()]).toEqual([50, 50]);
  now += 60_000;
  expect(found()).toBe(100);
  now += 60_000;
  expect(found()).toBe(110);
  expect(forms.of(structuredClone(schemas[0]!))).toBe(forms.of(schemas[0]!));
});

const parts = fc.letrec<{ part: object }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      {},
      string,
      number,
      { type: 'array' },
      { enum: [1, 'a'] },
      { const: 0 },
      { ...string, nullable: true },
    ),
    fc.record(
      {
        type: fc.constantFrom('array', ['array', 'null']),
        prefixItems: fc.array(tie('part'), { minLength: 1, maxLength: 2 }),
        items: fc.oneof(fc.boolean(), tie('part')),
        maxItems: fc.nat({ max: 3 }),
      },
      { requiredKeys: [] },
    ),
    fc.array(tie('part'), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
  ),
}));
const objects = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.dictionary(fc.constantFrom('a', 'b'), parts.part, { maxKeys: 2 }),
    required: fc.subarray(['a', 'b']),
    additionalProperties: fc.constantFrom(false, string),
  },
  { requiredKeys: ['type'] },
);
const unions = fc.tuple(
  objects,
  fc.constantFrom('allOf', 'anyOf', 'oneOf', 'x-none'),
  fc.array(objects, { minLength: 1, maxLength: 3 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('a', 0, 1, null, true),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
}));
const values = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value, { maxKeys: 3 });

it('shows no form that takes other arguments than the schema', () => {
  let shown = 0;
  fc.assert(
    fc.property(
      unions,
      fc.array(values, { minLength: 10, maxLength: 30 }),
      ([base, union, branches], args) => {
        const schema = { ...base, [union]: branches } as never;
        const fits = new Ajv2020({ strict: false }).compile(schema);
        for (const form of Object.values(new ClientForms().of(schema).forms)) {
          shown++;
          const fitsForm = new Ajv2020({ strict: false }).compile(form as object);
          for (const one of args) expect(fitsForm(one)).toBe(fits(one));
        }
      },
    ),
    { numRuns: 10 },
  );
  expect(shown).toBeGreaterThan(0);
});
