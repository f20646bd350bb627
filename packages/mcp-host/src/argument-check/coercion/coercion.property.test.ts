import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileArgumentCheck } from '../argument-check.ts';
import { canonicalText } from '../json/canonical-text.ts';
import { valueAt } from '../json/json-pointer.ts';

/** A schema, a value it accepts, and the same value with some of its parts written as text. */
interface Case {
  schema: object;
  value: unknown;
  written: unknown;
  /** The number of parts that are written as text; parts inside a text are not counted. */
  texts: number;
}

const asText = (part: Case): Case => ({ ...part, written: JSON.stringify(part.value), texts: 1 });
const maybeText = (parts: fc.Arbitrary<Case>) =>
  fc.tuple(parts, fc.boolean()).map(([part, text]) => (text ? asText(part) : part));
const plain = (schema: object, value: unknown): Case => ({ schema, value, written: value, texts: 0 });

const scalars = fc.oneof(
  fc
    .maxSafeInteger()
    .filter((n) => !Object.is(n, -0))
    .map((n) => plain({ type: 'integer' }, n)),
  fc.integer().map((n) => plain({ type: 'number' }, n / 8 + 0)),
  fc.boolean().map((b) => plain({ type: 'boolean' }, b)),
  fc.boolean().map((b) => plain({ anyOf: [{ type: 'null' }, { type: 'boolean' }] }, b)),
);

const { part } = fc.letrec<{ part: Case }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    maybeText(scalars),
    fc.string().map((s) => plain({ type: 'string' }, s)),
    maybeText(fc.array(tie('part') as fc.Arbitrary<Case>, { maxLength: 4 }).map(arrayOf)),
    maybeText(
      fc
        .dictionary(fc.string({ maxLength: 5 }), tie('part') as fc.Arbitrary<Case>, { maxKeys: 4 })
        .map(objectOf),
    ),
  ),
}));

function arrayOf(parts: Case[]): Case {
  return {
    schema: { type: 'array', ...(parts.length > 0 && { prefixItems: parts.map(({ schema }) => schema) }) },
    value: parts.map(({ value }) => value),
    written: parts.map(({ written }) => written),
    texts: parts.reduce((sum, { texts }) => sum + texts, 0),
  };
}

function objectOf(parts: Record<string, Case>): Case {
  const map = (of: (part: Case) => unknown) =>
    Object.fromEntries(Object.entries(parts).map(([name, each]) => [name, of(each)]));
  return {
    // ajv leaves a declared property of that name alone.
    schema: { type: 'object', properties: map(({ schema }) => schema) },
    value: map(({ value }) => value),
    written: map(({ written }) => written),
    texts: Object.values(parts).reduce((sum, { texts }) => sum + texts, 0),
  };
}

const check = ({ schema }: Case, args: unknown) =>
  compileArgumentCheck({ type: 'object', properties: { v: schema } }).check({
    v: args,
  });

it('gives back the value that was written as text, and says where', () => {
  fc.assert(
    fc.property(part, (each) => {
      const args = { v: each.written };
      const before = canonicalText(args);
      const checked = check(each, each.written);
      if (!('args' in checked)) throw new Error(checked.error.message);
      expect(canonicalText(checked.args.v)).toBe(canonicalText(each.value));
      expect(checked.coerced).toHaveLength(each.texts);
      for (const pointer of checked.coerced) {
        const text = valueAt(args, pointer)?.value as string;
        expect(canonicalText(valueAt(checked.args, pointer)?.value)).toBe(canonicalText(JSON.parse(text)));
      }
      expect(canonicalText(args)).toBe(before);
    }),
    { numRuns: 80 },
  );
});

it('never changes what fits, and changes nothing twice', () => {
  fc.assert(
    fc.property(part, (each) => {
      const checked = check(each, each.written);
      if (!('args' in checked)) throw new Error(checked.error.message);
      const again = check(each, checked.args.v);
      expect(again).toEqual({ args: checked.args, coerced: [] });
      expect(check(each, each.value)).toEqual({ args: { v: each.value }, coerced: [] });
    }),
    { numRuns: 50 },
  );
});

it('never throws, for any schema and any arguments', () => {
  const words = fc.constantFrom(
    'type',
    'properties',
    'items',
    'anyOf',
    '$ref',
    'allOf',
    'not',
    'enum',
    '$id',
    'pattern',
    'required',
  );
  const schemas = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('integer', '#', '#/properties/a', ['a'], true, 3, null, '(?!x)'),
      fc.dictionary(fc.oneof(words, fc.constant('a')), tie('schema'), { maxKeys: 4 }),
      fc.array(tie('schema'), { maxLength: 3 }),
    ),
  })).schema;
  fc.assert(
    fc.property(fc.dictionary(words, schemas), fc.dictionary(fc.string(), fc.jsonValue()), (schema, args) => {
      const checked = compileArgumentCheck({ ...schema, type: 'object' }).check(args);
      expect('args' in checked || checked.error.code === 'invalid_arguments').toBe(true);
    }),
    { numRuns: 150 },
  );
});
