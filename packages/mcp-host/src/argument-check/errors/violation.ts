import type { ErrorObject } from 'ajv';
import { pointerTo } from '../json/json-pointer.ts';
import { cut, jsonText, listed, quoted } from './text.ts';

const maxValues = 20;
const maxText = 300;

/** One problem of the arguments. */
export interface Violation {
  /** A JSON pointer to the value. */
  pointer: string;
  /** Completes a sentence that begins with the pointer, such as "must be a number". */
  text: string;
  /** True if the message shows the value: it exists and helps to understand the violation. */
  showsValue: boolean;
  /** The name that was given, and the one that was probably meant. */
  suggestion?: { given: string; name: string } | undefined;
}

type Params = ErrorObject['params'];

/** The requirements that a value itself doesn't meet, by keyword. */
const requirements: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `be ${[type].flat().map(withArticle).join(' or ')}`,
  enum: ({ allowedValues }) => `be one of ${cut(listed(allowedValues, maxValues, jsonText), maxText)}`,
  const: ({ allowedValue }) => `be ${jsonText(allowedValue)}`,
  minimum: limit,
  maximum: limit,
  exclusiveMinimum: limit,
  exclusiveMaximum: limit,
  multipleOf: ({ multipleOf }) => `be a multiple of ${multipleOf}`,
  minLength: ({ limit }) => `be at least ${limit} characters long`,
  maxLength: ({ limit }) => `be at most ${limit} characters long`,
  pattern: ({ pattern }) => `match the pattern ${quoted(pattern)}`,
  minItems: ({ limit }) => `have at least ${limit} items`,
  maxItems: mostItems,
  items: mostItems,
  unevaluatedItems: mostItems,
  uniqueItems: () => 'not have the same item twice',
  contains: ({ minContains = 1 }) => `have at least ${minContains} items of the kind its schema describes`,
  minProperties: ({ limit }) => `have at least ${limit} properties`,
  maxProperties: ({ limit }) => `have at most ${limit} properties`,
  not: () => 'not be what its schema excludes',
  anyOf: () => 'fit one of the forms of its schema',
  oneOf: () => 'fit one of the forms of its schema',
};

function limit({ comparison, limit }: Params): string {
  return `be ${comparison} ${limit}`;
}

function mostItems({ limit, len }: Params): string {
  return `have at most ${limit ?? len} items`;
}

/** Describes an error of ajv; `undefined` for an error that only follows from others. */
export function violationOf({
  keyword,
  instancePath: at,
  params,
  propertyName,
}: ErrorObject): Violation | undefined {
  if (keyword === 'if' || (propertyName !== undefined && keyword !== 'propertyNames')) return undefined;
  const aboutProperty = (name: string, text: string): Violation => ({
    pointer: pointerTo(at, name),
    text,
    showsValue: false,
  });
  switch (keyword) {
    case 'required':
      return aboutProperty(params.missingProperty, 'is missing');
    case 'dependentRequired':
      return aboutProperty(params.missingProperty, `is missing, which '${params.property}' requires`);
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return aboutProperty(
        params.additionalProperty ?? params.unevaluatedProperty,
        'is not a known parameter',
      );
    case 'propertyNames':
      return aboutProperty(params.propertyName, 'has a name that is not allowed');
    case 'false schema':
      return { pointer: at, text: 'is not allowed', showsValue: false };
  }
  const requirement = requirements[keyword]?.(params) ?? `satisfy '${keyword}' of its schema`;
  return { pointer: at, text: `must ${requirement}`, showsValue: true };
}

function withArticle(type: string): string {
  if (type === 'null') return type;
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}
