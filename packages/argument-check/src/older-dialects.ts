import { isObject } from './schema-keywords.ts';

/**
 * One schema object in the words of 2020-12, its subschemas as they are. Tuples, `dependencies`, boolean exclusive
 * limits and `nullable` are what older drafts and OpenAPI say instead, and servers send them whatever `$schema` claims.
 */
export function inPresentWords(schema: Record<string, unknown>, draft07: boolean): Record<string, unknown> {
  const words = { ...schema };
  if (draft07) {
    // The words of later drafts mean nothing in it, and nothing beside a reference does.
    for (const word of laterWords) delete words[word];
    if (typeof words.$ref === 'string') return { $ref: words.$ref };
  }
  if (Array.isArray(words.items)) {
    if (words.items.length > 0) words.prefixItems = words.items;
    delete words.items;
    if (words.additionalItems !== undefined) words.items = words.additionalItems;
  }
  if (draft07 && isObject(words.dependencies)) {
    const entries = Object.entries(words.dependencies);
    words.dependentRequired = Object.fromEntries(entries.filter(([, value]) => Array.isArray(value)));
    words.dependentSchemas = Object.fromEntries(entries.filter(([, value]) => !Array.isArray(value)));
  }
  exclusiveLimit(words, 'exclusiveMinimum', 'minimum');
  exclusiveLimit(words, 'exclusiveMaximum', 'maximum');
  if (words.nullable === true && words.type !== undefined) words.type = withNull(words.type);
  return words;
}

const laterWords = [
  'prefixItems',
  'minContains',
  'maxContains',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependentRequired',
  'dependentSchemas',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
];

function exclusiveLimit(words: Record<string, unknown>, exclusive: string, inclusive: string): void {
  const flag = words[exclusive];
  if (typeof flag !== 'boolean') return;
  delete words[exclusive];
  if (!flag) return;
  words[exclusive] = words[inclusive];
  delete words[inclusive];
  if (words[exclusive] === undefined) delete words[exclusive];
}

function withNull(type: unknown): unknown {
  const types = Array.isArray(type) ? type : [type];
  return types.includes('null') ? type : [...types, 'null'];
}
