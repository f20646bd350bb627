import { _, type Code, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { canonicalText } from '../json/canonical-text.ts';
import type { LinearPattern } from '../schema/schema-graph.ts';
import type { StepMeter } from './step-meter.ts';

/** The factor by which a step costs more if every violation is kept, because failures then cost more. */
const findsAllFactor = 50;

/**
 * Creates an ajv whose validators count their work on a meter, run patterns in linear time, compare items by their
 * canonical text, divide decimals exactly, and report a union as a whole. It takes schemas that `readSchema` has checked, and doesn't check them
 * again. With `findsAll` its validators find every violation, at a greater cost.
 */
export function createAjv(
  patterns: ReadonlyMap<string, LinearPattern>,
  meter: StepMeter,
  findsAll: boolean,
): Ajv2020 {
  const regExp = (source: string) => meteredPattern(source, patterns.get(source)!, meter);
  const ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    ownProperties: true,
    inlineRefs: false,
    messages: false,
    logger: false,
    allErrors: findsAll,
    verbose: findsAll,
    code: { optimize: false, regExp: Object.assign(regExp, { code: 'linearPattern' }) },
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    validate: (unique: boolean, items: unknown[]) => !unique || areDistinct(items, meter),
  });
  ajv.removeKeyword('multipleOf');
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    error: { message: '', params: ({ schema }) => _`{multipleOf: ${schema}}` },
    code(cxt) {
      const divides = cxt.gen.scopeValue('func', { ref: isMultiple });
      cxt.pass(_`${divides}(${cxt.data}, ${cxt.schema})`);
    },
  });
  const factor = findsAll ? findsAllFactor : 1;
  for (const [keyword, cost] of Object.entries(costs)) {
    changeCode(ajv, keyword, (cxt) => {
      cxt.gen.code(_`${cxt.gen.scopeValue('obj', { ref: meter })}.spend(${factor} * (${cost(cxt)}))`);
    });
  }
  for (const keyword of ['anyOf', 'oneOf']) changeCode(ajv, keyword, reportAsAWhole);
  return ajv;
}

/** A pattern in the form that ajv requires; ajv distinguishes patterns by their text. */
function meteredPattern(source: string, { test, cost }: LinearPattern, meter: StepMeter) {
  return {
    toString: () => source,
    test(text: string): boolean {
      meter.spend(cost(text));
      return test(text);
    },
  };
}

/** Tells whether the items of a list are distinct. ajv compares each item with each other one, which takes too long for many items. */
function areDistinct(items: unknown[], meter: StepMeter): boolean {
  meter.spend(items.length);
  const scalars = new Set<unknown>();
  const containers = new Set<string>();
  let rounded = 0;
  for (const item of items) {
    if (typeof item === 'object' && item !== null) containers.add(canonicalText(item));
    // Different numbers of many digits may be the same double here.
    else if (Number.isInteger(item) && !Number.isSafeInteger(item)) rounded++;
    else scalars.add(item);
  }
  return scalars.size + containers.size + rounded === items.length;
}

/**
 * Tells whether a number is a multiple of a step, as both are written: 0.3 is one of 0.1, though ajv, which divides doubles, says that it is
 * not.
 */
function isMultiple(value: number, step: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0;
  const [dividend, divisor] = [decimalOf(value), decimalOf(step)];
  const exponent = Math.min(dividend.exponent, divisor.exponent);
  const scaled = (one: Decimal): bigint => one.digits * 10n ** BigInt(one.exponent - exponent);
  return scaled(dividend) % scaled(divisor) === 0n;
}

/** A number as `digits * 10 ** exponent`. */
interface Decimal {
  digits: bigint;
  exponent: number;
}

function decimalOf(value: number): Decimal {
  const [mantissa = '', exponent] = value.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const namesIn = ({ data }: KeywordCxt) => _`Object.keys(${data}).length`;
const itemsIn = ({ data }: KeywordCxt) => _`${data}.length`;
const entriesOf = ({ schema }: KeywordCxt): number => schema.length;

/** The steps of a keyword, as generated code, if they grow with the value or the schema. */
const costs: Record<string, (cxt: KeywordCxt) => Code | number> = {
  $ref: () => 1,
  enum: entriesOf,
  required: entriesOf,
  properties: ({ schema }) => Object.keys(schema).length,
  patternProperties: (cxt) => _`${namesIn(cxt)} * ${Object.keys(cxt.schema).length}`,
  additionalProperties: namesIn,
  unevaluatedProperties: namesIn,
  propertyNames: namesIn,
  items: itemsIn,
  contains: itemsIn,
  unevaluatedItems: itemsIn,
  allOf: entriesOf,
  anyOf: entriesOf,
  oneOf: entriesOf,
};

/** Lets `before` act on the context of a keyword right before ajv generates the keyword's code. */
function changeCode(ajv: Ajv2020, keyword: string, before: (cxt: KeywordCxt) => void): void {
  const rule = ajv.RULES.all[keyword];
  if (typeof rule !== 'object' || !('code' in rule.definition)) throw new Error(`ajv has no ${keyword}`);
  const { definition } = rule;
  const { code } = definition;
  rule.definition = {
    ...definition,
    code(cxt, ruleType) {
      before(cxt);
      code(cxt, ruleType);
    },
  };
}

/** Drops the violations of the branches of a union: they would hide that one branch is enough. */
function reportAsAWhole(cxt: KeywordCxt): void {
  const error = cxt.error.bind(cxt);
  cxt.error = (...args) => {
    cxt.reset();
    error(...args);
  };
}
