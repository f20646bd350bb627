import { isJsonObject } from '@signalbox/protocol';
import { valueAt } from '../json/json-pointer.ts';
import { subschemas } from './keywords.ts';
import { SchemaProblem } from './schema-graph.ts';

/** Resolves the references of one schema document. */
export interface References {
  /** Returns the value that `ref` refers to from its place in `from`. Throws `SchemaProblem` if that is not in the document. */
  target(ref: string, from: object): unknown;
}

const documentBase = 'schema://tool/';

/** Finds every `$id`, `$anchor` and `$dynamicAnchor` of a document. Nothing is fetched. */
export function indexReferences(document: Record<string, unknown>): References {
  const bases = new Map<object, string>();
  const resources = new Map<string, unknown>([[documentBase, document]]);
  const anchors = new Map<string, unknown>();
  visit(document, documentBase);

  function visit(schema: unknown, outerBase: string): void {
    if (!isJsonObject(schema) || bases.has(schema)) return;
    const base = baseOf(schema, outerBase);
    bases.set(schema, base);
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      if (typeof schema[keyword] === 'string') register(anchors, `${base}#${schema[keyword]}`, schema);
    }
    for (const inner of subschemas(schema)) visit(inner, base);
  }

  function baseOf(schema: Record<string, unknown>, outerBase: string): string {
    const id = schema.$id;
    if (typeof id !== 'string') return outerBase;
    const url = URL.parse(id, outerBase);
    if (!url) throw new SchemaProblem(`its $id ${quoted(id)} is not a URI`);
    const base = withoutFragment(url);
    // Before 2019 an anchor was written as an identifier.
    if (id.startsWith('#') && id.length > 1) register(anchors, `${outerBase}#${id.slice(1)}`, schema);
    if (base !== outerBase) register(resources, base, schema);
    return base;
  }

  return {
    target(ref, from) {
      const url = URL.parse(ref, bases.get(from) ?? documentBase);
      const resource = url && resources.get(withoutFragment(url));
      if (!url || resource === undefined) {
        throw new SchemaProblem(`it refers to ${quoted(ref)}, which is outside the schema`);
      }
      const fragment = decoded(url.hash.slice(1));
      if (fragment === '') return resource;
      const found = fragment.startsWith('/')
        ? valueAt(resource, fragment)?.value
        : anchors.get(`${withoutFragment(url)}#${fragment}`);
      if (found === undefined) throw new SchemaProblem(`it refers to ${quoted(ref)}, which it doesn't have`);
      return found;
    },
  };
}

function register(table: Map<string, unknown>, key: string, schema: unknown): void {
  const known = table.get(key);
  if (known !== undefined && known !== schema) {
    throw new SchemaProblem(`two of its parts are called ${quoted(key.replace(documentBase, ''))}`);
  }
  table.set(key, schema);
}

function withoutFragment(url: URL): string {
  return url.hash === '' ? url.href.replace(/#$/, '') : url.href.slice(0, -url.hash.length);
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function quoted(text: string): string {
  return `'${text.length > 120 ? `${text.slice(0, 120)}…` : text}'`;
}
