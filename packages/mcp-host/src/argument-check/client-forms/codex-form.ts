import { isExactNumber, isJsonObject } from '@signalbox/protocol';
import { canonicalText } from '../json/canonical-text.ts';
import { holdsOf } from '../schema/keywords.ts';
import { isDraft07 } from '../schema/older-dialects.ts';
import type { FoundForm, SameMeaning, Unshown } from './found-form.ts';

type Schema = Record<string, unknown>;

/**
 * Finds the form of a schema that codex 0.171 shows its model as it is meant. codex leaves out `prefixItems` and `nullable`, shows an array
 * without an object in `items`, a boolean schema and values without a type as texts, and leaves out a tool that has a list in `items`.
 */
export function codexForm(schema: Schema, isSame: SameMeaning): FoundForm {
  const writer = new CodexWriter(schema, isSame);
  const form = writer.write(schema) as Schema;
  if (!writer.hasTuple) return { form, ...(writer.unshown && { unshown: writer.unshown }) };
  // A draft-07 schema with tuples becomes one of the present dialect, because draft-07 knows them only in this form.
  if (isDraft07(schema)) delete form.$schema;
  if (writer.unshown?.how !== 'left out' && isSame(schema, form))
    return { form, ...(writer.unshown && { unshown: writer.unshown }) };
  return { unshown: { how: 'left out', why: 'it has a list in items' } };
}

/** The keywords with schemas that codex shows. The schemas in all others are not read. */
const shownKeywords = new Set([
  ...['properties', 'items', 'prefixItems', 'additionalProperties', 'additionalItems'],
  ...['anyOf', 'oneOf', 'allOf', '$defs', 'definitions'],
]);
/** Keywords that say nothing of values. */
const notes = ['title', 'description', '$comment', 'examples', 'default', 'deprecated'];

/** Writes a schema from the inside out. Each change of one schema object is kept only if it does not change what that object means. */
class CodexWriter {
  /** True if there was a list in `items`. */
  hasTuple = false;
  /** The first part that codex shows otherwise all the same. */
  unshown: Unshown | undefined;
  readonly #document: Schema;
  readonly #isSame: SameMeaning;

  constructor(document: Schema, isSame: SameMeaning) {
    this.#document = document;
    this.#isSame = isSame;
  }

  write(schema: unknown): unknown {
    if (schema === true) return {};
    if (schema === false) return { not: {} };
    if (!isJsonObject(schema)) return schema;
    const inner = Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, this.#inner(keyword, value)]),
    );
    if (inner.additionalProperties === false && Object.keys(inner.patternProperties ?? {}).length > 0)
      this.#lose('it shows an object with patternProperties as an empty one');
    return this.#changed(this.#changed(inner, this.#list(inner)), this.#typed(inner));
  }

  #inner(keyword: string, value: unknown): unknown {
    // codex shows booleans in additionalProperties as they are; items are written with the other keywords of lists.
    if (!shownKeywords.has(keyword) || typeof value === 'boolean') return value;
    if (Array.isArray(value)) return value.map((one) => this.write(one));
    if (holdsOf(keyword) !== 'map of schemas' || !isJsonObject(value)) return this.write(value);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.write(one)]));
  }

  /** Makes a change, if there is one and the schema means the same afterwards. */
  #changed(schema: Schema, change: Change | undefined): Schema {
    if (!change) return schema;
    const changed = { ...schema, ...change.set };
    for (const keyword of change.remove ?? []) delete changed[keyword];
    const isTuple = Array.isArray(schema.items);
    if (isTuple) this.hasTuple = true;
    if (this.#isSame(this.#alone(schema), this.#alone(changed, isTuple))) return changed;
    this.#lose(change.otherwise);
    return schema;
  }

  #lose(why: string): void {
    this.unshown ??= { how: 'changed', why };
  }

  /** Makes a schema of the document one that stands alone. */
  #alone(schema: Schema, isPresentDialect = false): Schema {
    const { $schema, $defs, definitions } = this.#document;
    const alone = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !notes.includes(keyword)));
    if ($schema !== undefined && !isPresentDialect) alone.$schema = $schema;
    if (!JSON.stringify(alone).includes('"$ref"')) return alone;
    return {
      ...alone,
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    };
  }

  /** Writes `items` that say as much as possible of what `prefixItems` say, and accept the same lists. */
  #list(schema: Schema): Change | undefined {
    const { type, maxItems } = schema;
    const isTuple = Array.isArray(schema.items);
    const prefix = [isTuple ? schema.items : (schema.prefixItems ?? [])].flat();
    const items = isTuple ? schema.additionalItems : schema.items;
    const isList = [type].flat().includes('array') || (type === undefined && prefix.length > 0);
    if (!isList && typeof items !== 'boolean') return undefined;
    if (!isTuple && isJsonObject(items) && prefix.every((one) => canonicalText(one) === canonicalText(items)))
      return undefined;
    const set: Schema = prefix.length > 0 ? { prefixItems: prefix } : {};
    const remove = isTuple ? ['additionalItems'] : [];
    const otherwise = 'it shows a list as one of texts';
    if (items === false || (typeof maxItems === 'number' && maxItems <= prefix.length)) {
      const kinds = [...new Map(prefix.map((one) => [canonicalText(one), one])).values()];
      const one = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
      const most = typeof maxItems === 'number' ? Math.min(maxItems, prefix.length) : prefix.length;
      return {
        set: { ...set, items: kinds.length === 0 ? { not: {} } : one, maxItems: most },
        remove,
        otherwise,
      };
    }
    if (isJsonObject(items) && prefix.length > 0) {
      this.#lose('it shows prefixItems as if they were like the items behind them');
      return isTuple ? { set: { ...set, items }, remove, otherwise } : undefined;
    }
    return { set: { ...set, items: {} }, remove, otherwise };
  }

  /** Writes the type of the values that a schema names, and `null` in the type of one that OpenAPI calls nullable. */
  #typed({ enum: values, const: value, type, nullable }: Schema): Change | undefined {
    const named = Array.isArray(values) ? values : value === undefined ? [] : [value];
    const types = [...new Set(named.map(typeOf))];
    if (type === undefined && types.some((one) => one !== 'string'))
      return {
        set: { type: types.length === 1 ? types[0] : types },
        otherwise: 'it shows values of other types as texts',
      };
    if (type === undefined || nullable !== true) return undefined;
    return {
      set: { type: [...new Set([type, 'null'].flat())] },
      remove: ['nullable'],
      otherwise: 'it does not show that a value may be null',
    };
  }
}

/** A change of the keywords of one schema object. */
interface Change {
  set: Schema;
  remove?: readonly string[];
  /** The form that codex shows without it. */
  otherwise: string;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (isExactNumber(value)) return 'number';
  return Array.isArray(value) ? 'array' : typeof value;
}
