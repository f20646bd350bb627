import { isJsonObject } from '@signalbox/protocol';

/** Returns true if a document says that it is written in draft-07 or an older dialect. */
export function isDraft07(document: Record<string, unknown>): boolean {
  return /draft-0[3-7]/.test(String(document.$schema));
}

/**
 * Translates one schema object to 2020-12; its subschemas stay unchanged. Older drafts and OpenAPI have tuples in `items`, `dependencies`,
 * boolean exclusive limits and `nullable`, and servers send them under any `$schema`.
 */
export function toPresentDialect(schema: Record<string, unknown>, draft07: boolean): Record<string, unknown> {
  const translated = { ...schema };
  if (draft07) {
    for (const keyword of laterKeywords) delete translated[keyword];
    // In draft-07, a reference makes all keywords beside it meaningless.
    if (typeof translated.$ref === 'string') return { $ref: translated.$ref };
  }
  if (Array.isArray(translated.items)) {
    if (translated.items.length > 0) translated.prefixItems = translated.items;
    delete translated.items;
    if (translated.additionalItems !== undefined) translated.items = translated.additionalItems;
  }
  if (draft07 && isJsonObject(translated.dependencies)) {
    const entries = Object.entries(translated.dependencies);
    translated.dependentRequired = Object.fromEntries(entries.filter(([, value]) => Array.isArray(value)));
    translated.dependentSchemas = Object.fromEntries(entries.filter(([, value]) => !Array.isArray(value)));
  }
  translateLimit(translated, 'exclusiveMinimum', 'minimum');
  translateLimit(translated, 'exclusiveMaximum', 'maximum');
  if (translated.nullable === true && translated.type !== undefined) {
    translated.type = [...new Set([translated.type, 'null'].flat())];
  }
  return translated;
}

/** Keywords that came after draft-07 and have no meaning there. */
const laterKeywords = [
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

/**
 * Translates `exclusiveMinimum: true`, which makes `minimum` exclusive up to draft-04 and in OpenAPI 3.0. The same goes for the maximum.
 */
function translateLimit(schema: Record<string, unknown>, exclusive: string, inclusive: string): void {
  const { [exclusive]: isExclusive, [inclusive]: limit } = schema;
  if (typeof isExclusive !== 'boolean') return;
  delete schema[exclusive];
  if (!isExclusive || limit === undefined) return;
  schema[exclusive] = limit;
  delete schema[inclusive];
}
