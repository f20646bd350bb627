import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalText } from '../json/canonical-text.ts';
import { losslessForm } from './lossless-form.ts';

describe('the other form of a value', () => {
  it.each([
    ['42', 42],
    ['-7', -7],
    ['0.1', 0.1],
    ['1e-7', 1e-7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['true', true],
    ['false', false],
    ['{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
    ['[1.50, 2e3]', [1.5, 2000]],
    ['["\\u00e9:", "{"]', ['é:', '{']],
    [42, '42'],
    [-0.5, '-0.5'],
    [true, 'true'],
  ])('of %j is %j', (value, other) => {
    expect(losslessForm(value)).toEqual(other);
  });

  it.each([
    ['042'],
    ['4.0'],
    ['+4'],
    [' 4'],
    ['1e400'],
    ['1e3'],
    ['-0'],
    ['0x10'],
    ['9007199254740993'],
    ['12345678901234567890'],
    ['0.12345678901234567890'],
    ['NaN'],
    ['Infinity'],
    ['null'],
    ['True'],
    ['yes'],
    [''],
    ['[1'],
    ['{"a":1,"a":2}'],
    ['{"id":12345678901234567890}'],
    ['[-0]'],
    ['[1e999]'],
    ['['.repeat(257) + ']'.repeat(257)],
    [-0],
    [1e21],
    [2 ** 60],
    [0.1234567890123456],
    [Number.NaN],
    [null],
    [[1]],
    [{}],
  ])('of %j does not exist, since something would be lost or guessed', (value) => {
    expect(losslessForm(value)).toBeUndefined();
  });

  it('leads back to the value that it is the form of, for every value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), numberTexts()), (value) => {
        const other = losslessForm(value);
        if (other === undefined || typeof other === 'object') return;
        expect(typeof value === 'string' ? JSON.stringify(other) : JSON.parse(String(other))).toBe(value);
      }),
    );
  });

  it('of the JSON text of an object or array holds every value of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, indent) => {
        fc.pre(typeof value === 'object' && value !== null);
        const text = JSON.stringify(value, null, indent);
        const other = losslessForm(text);
        if (other !== undefined) expect(canonicalText(other)).toBe(canonicalText(JSON.parse(text)));
        else expect(text).toMatch(/\d{16}|e\+/);
      }),
    );
  });
});

function numberTexts() {
  return fc.oneof(
    fc.bigInt().map(String),
    fc.double().map(String),
    fc
      .tuple(fc.integer(), fc.nat(), fc.integer({ min: -400, max: 400 }))
      .map(([a, b, e]) => `${a}.${b}e${e}`),
  );
}
