import { _, type AnySchemaObject, type Code, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { canonicalText } from './canonical-text.ts';
import type { LinearPattern } from './schema-graph.ts';
import type { StepMeter } from './step-meter.ts';

/** What can fail costs more where each failure is kept. */
const errorFactor = 50;

/** What a validator for one schema is made with. `everyError`: finds all that is wrong, at a greater cost. */
export interface AjvOptions {
  patterns: ReadonlyMap<string, LinearPattern>;
  meter: StepMeter;
  everyError: boolean;
}

/**
 * An ajv whose validators count their work on a meter, run patterns in linear time, compare items by their canonical
 * text, and tell about a union as a whole. Schemas must have been read by `readSchema`: they are not checked again.
 */
export function createAjv({ patterns, meter, everyError }: AjvOptions): Ajv2020 {
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
    allErrors: everyError,
    verbose: everyError,
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
  const factor = everyError ? errorFactor : 1;
  for (const [keyword, cost] of Object.entries(costs)) {
    meterKeyword(ajv, keyword, (cxt) => _`${factor} * (${cost(cxt)})`, meter);
  }
  return ajv;
}

/** ajv tells patterns apart by their text. */
function meteredPattern(source: string, { test, cost }: LinearPattern, meter: StepMeter) {
  return {
    toString: () => source,
    test(text: string): boolean {
      meter.spend(cost(text));
      return test(text);
    },
  };
}

function areDistinct(items: unknown[], meter: StepMeter): boolean {
  meter.spend(items.length);
  const scalars = new Set<unknown>();
  const containers = new Set<string>();
  for (const item of items) {
    if (typeof item === 'object' && item !== null) containers.add(canonicalText(item));
    else scalars.add(item);
  }
  return scalars.size + containers.size === items.length;
}

/** What applying a keyword costs, as generated code, wherever that grows with the value or the schema. */
const costs: Record<string, (cxt: KeywordCxt) => Code | number> = {
  $ref: () => 1,
  enum: ({ schema }) => schema.length,
  required: ({ schema }) => schema.length,
  properties: ({ schema }) => Object.keys(schema).length,
  patternProperties: ({ schema, data }) => _`Object.keys(${data}).length * ${Object.keys(schema).length}`,
  additionalProperties: ({ data }) => _`Object.keys(${data}).length`,
  unevaluatedProperties: ({ data }) => _`Object.keys(${data}).length`,
  propertyNames: ({ data }) => _`Object.keys(${data}).length`,
  items: ({ data }) => _`${data}.length`,
  contains: ({ data }) => _`${data}.length`,
  unevaluatedItems: ({ data }) => _`${data}.length`,
  allOf: ({ schema }) => schema.length,
  anyOf: ({ schema }) => schema.length,
  oneOf: ({ schema }) => schema.length,
};

function meterKeyword(
  ajv: Ajv2020,
  keyword: string,
  cost: (cxt: KeywordCxt) => Code,
  meter: StepMeter,
): void {
  const rule = ajv.RULES.all[keyword];
  if (typeof rule !== 'object' || !('code' in rule.definition)) throw new Error(`ajv has no ${keyword}`);
  const { definition } = rule;
  const { code } = definition;
  rule.definition = {
    ...definition,
    code(cxt, ruleType) {
      cxt.gen.code(_`${cxt.gen.scopeValue('obj', { ref: meter })}.spend(${cost(cxt)})`);
      if (keyword === 'anyOf' || keyword === 'oneOf') tellAsAWhole(cxt);
      code(cxt, ruleType);
    },
  };
}

/** The failures of each branch would stand among the others without saying that one branch is enough. */
function tellAsAWhole(cxt: KeywordCxt): void {
  const error = cxt.error.bind(cxt);
  cxt.error = (...args) => {
    cxt.reset();
    error(...args);
  };
}

/** How the nodes of a schema are told to ajv. */
export function documentOf(nodes: ReadonlyMap<string, object>): AnySchemaObject {
  return { $defs: Object.fromEntries(nodes) };
}
