import type { ErrorObject } from 'ajv';
import { pointerTo } from './json-pointer.ts';
import { cut, jsonText, listed, quoted } from './value-text.ts';

const maxValues = 20;
const maxText = 300;

/** What is wrong at one place of the arguments. `text` goes on where the pointer ends: "must be …". */
export interface Violation {
  pointer: string;
  text: string;
  /** The value is there, and telling it helps. */
  showsValue: boolean;
  /** The name that was given where another was probably meant. */
  meant?: { given: string; name: string } | undefined;
}

/** A violation in words; `undefined` for one that only follows from others. Unions are told elsewhere. */
export function violationOf({
  keyword,
  instancePath: at,
  params,
  propertyName,
}: ErrorObject): Violation | undefined {
  if (propertyName !== undefined && keyword !== 'propertyNames') return undefined;
  const must = (text: string): Violation => ({ pointer: at, text: `must ${text}`, showsValue: true });
  switch (keyword) {
    case 'required':
    case 'dependentRequired':
      return absent(pointerTo(at, params.missingProperty), params.property);
    case 'additionalProperties':
      return unknown(pointerTo(at, params.additionalProperty));
    case 'unevaluatedProperties':
      return unknown(pointerTo(at, params.unevaluatedProperty));
    case 'false schema':
      return { pointer: at, text: 'is not allowed', showsValue: false };
    case 'type':
      return must(`be ${[params.type].flat().map(withArticle).join(' or ')}`);
    case 'enum':
      return must(`be one of ${cut(listed(params.allowedValues, maxValues, jsonText), maxText)}`);
    case 'const':
      return must(`be ${jsonText(params.allowedValue)}`);
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return must(`be ${params.comparison} ${params.limit}`);
    case 'multipleOf':
      return must(`be a multiple of ${params.multipleOf}`);
    case 'minLength':
      return must(`be at least ${params.limit} characters long`);
    case 'maxLength':
      return must(`be at most ${params.limit} characters long`);
    case 'pattern':
      return must(`match the pattern ${quoted(params.pattern)}`);
    case 'minItems':
      return must(`have at least ${params.limit} items`);
    case 'maxItems':
    case 'items':
    case 'unevaluatedItems':
      return must(`have at most ${params.limit ?? params.len} items`);
    case 'uniqueItems':
      return must('not have the same item twice');
    case 'contains':
      return must(`have at least ${params.minContains ?? 1} items of the kind its schema describes`);
    case 'minProperties':
      return must(`have at least ${params.limit} properties`);
    case 'maxProperties':
      return must(`have at most ${params.limit} properties`);
    case 'propertyNames':
      return {
        pointer: pointerTo(at, params.propertyName),
        text: 'has a name that is not allowed',
        showsValue: false,
      };
    case 'not':
      return must('not be what its schema excludes');
    case 'anyOf':
    case 'oneOf':
      return must('fit one of the forms of its schema');
    case 'if':
      return undefined;
    default:
      return must(`satisfy '${keyword}' of its schema`);
  }
}

function absent(pointer: string, because: unknown): Violation {
  const why = because === undefined ? '' : `, which '${String(because)}' requires`;
  return { pointer, text: `is missing${why}`, showsValue: false };
}

function unknown(pointer: string): Violation {
  return { pointer, text: 'is not a known parameter', showsValue: false };
}

export function withArticle(type: string): string {
  if (type === 'null') return type;
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}
