/** What the value of a keyword is made of. */
export type KeywordKind =
  | 'schema'
  | 'node'
  | 'schemas'
  | 'nodes'
  | 'schemaMap'
  | 'patternMap'
  | 'number'
  | 'positive'
  | 'count'
  | 'flag'
  | 'names'
  | 'nameMap'
  | 'pattern'
  | 'type'
  | 'values'
  | 'value'
  | 'text';

/** The keywords of 2020-12 that are checked, and `format`, which is only told. Others say nothing about arguments. */
export const keywordKinds: Readonly<Record<string, KeywordKind>> = {
  type: 'type',
  enum: 'values',
  const: 'value',
  format: 'text',
  multipleOf: 'positive',
  maximum: 'number',
  exclusiveMaximum: 'number',
  minimum: 'number',
  exclusiveMinimum: 'number',
  maxLength: 'count',
  minLength: 'count',
  pattern: 'pattern',
  maxItems: 'count',
  minItems: 'count',
  uniqueItems: 'flag',
  contains: 'schema',
  maxContains: 'count',
  minContains: 'count',
  prefixItems: 'schemas',
  items: 'schema',
  unevaluatedItems: 'schema',
  maxProperties: 'count',
  minProperties: 'count',
  required: 'names',
  dependentRequired: 'nameMap',
  properties: 'schemaMap',
  patternProperties: 'patternMap',
  additionalProperties: 'schema',
  unevaluatedProperties: 'schema',
  propertyNames: 'schema',
  dependentSchemas: 'schemaMap',
  allOf: 'schemas',
  anyOf: 'nodes',
  oneOf: 'nodes',
  not: 'schema',
  if: 'node',
  // biome-ignore lint/suspicious/noThenProperty: the keyword's name
  then: 'schema',
  else: 'schema',
};

/** The schemas directly inside a schema object, of any dialect: where identifiers and anchors are looked for. */
export function subschemas(schema: Record<string, unknown>): unknown[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const holds = holders.get(keyword);
    if (holds === undefined) return [];
    if (Array.isArray(value)) return value;
    return holds === 'map' && isObject(value) ? Object.values(value) : [value];
  });
}

const holders = new Map<string, 'map' | 'one or a list'>([
  ['$defs', 'map'],
  ['definitions', 'map'],
  ['dependencies', 'map'],
  ['additionalItems', 'one or a list'],
  ...Object.entries(keywordKinds).flatMap(([keyword, kind]): [string, 'map' | 'one or a list'][] => {
    if (kind === 'schemaMap' || kind === 'patternMap') return [[keyword, 'map']];
    return /^(schema|node)s?$/.test(kind) ? [[keyword, 'one or a list']] : [];
  }),
]);

const types = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);

/** What the value of such a keyword must be, if it isn't. */
export function misfit(kind: KeywordKind, value: unknown): string | undefined {
  switch (kind) {
    case 'schema':
    case 'node':
      return isSchema(value) ? undefined : 'must be a schema';
    case 'schemas':
    case 'nodes':
      return isList(value, isSchema) && value.length > 0 ? undefined : 'must be a list of schemas';
    case 'schemaMap':
    case 'patternMap':
      return isMap(value, isSchema) ? undefined : 'must be an object of schemas';
    case 'number':
      return typeof value === 'number' ? undefined : 'must be a number';
    case 'positive':
      return typeof value === 'number' && value > 0 ? undefined : 'must be a number above 0';
    case 'count':
      return Number.isInteger(value) && (value as number) >= 0
        ? undefined
        : 'must be a whole number from 0 up';
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'names':
      return isNames(value) ? undefined : 'must be a list of names';
    case 'nameMap':
      return isMap(value, isNames) ? undefined : 'must be an object of lists of names';
    case 'pattern':
    case 'text':
      return typeof value === 'string' ? undefined : 'must be a string';
    case 'type':
      return isType(value) ? undefined : `must be one or more of ${[...types].join(', ')}`;
    case 'values':
      return Array.isArray(value) && value.length > 0 ? undefined : 'must be a list of values';
    case 'value':
      return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isObject(value);
}

function isList(value: unknown, fits: (entry: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(fits);
}

function isMap(value: unknown, fits: (entry: unknown) => boolean): boolean {
  return isObject(value) && Object.values(value).every(fits);
}

function isNames(value: unknown): boolean {
  return isList(value, (name) => typeof name === 'string');
}

function isType(value: unknown): boolean {
  const names = Array.isArray(value) ? value : [value];
  return names.length > 0 && names.every((name) => types.has(name)) && new Set(names).size === names.length;
}
