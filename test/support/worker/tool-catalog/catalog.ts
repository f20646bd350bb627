import { readFileSync } from 'node:fs';
import type { Tool } from '@signalbox/protocol';

/**
 * A catalog of 500 tools of 25 services in text files: `@service`, then `operation: description | required / optional`
 * parameters, where `#` marks a number, `?` a truth value and `[]` a list.
 */
const services = ['business', 'development', 'office', 'operations', 'signals', 'web'];

interface Parameter {
  name: string;
  schema: Record<string, unknown>;
}

function linesOf(file: string): string[] {
  const text = readFileSync(new URL(`./${file}.txt`, import.meta.url), 'utf8');
  return text.split('\n').filter((line) => line !== '');
}

/** The tools, named `service_operation`. */
export function catalogTools(): Tool[] {
  const meanings = new Map(linesOf('parameters').map((line) => splitAt(line, ': ')));
  let service = '';
  return services.flatMap(linesOf).flatMap((line) => {
    if (line.startsWith('@')) {
      service = line.slice(1);
      return [];
    }
    return [toolOf(service, line, meanings)];
  });
}

/** A query in an agent's words, and the tools that answer it. */
export interface CatalogQuery {
  query: string;
  right: string[];
}

/**
 * `queries`: fifty, written before the search was tuned. `later-queries`: forty, written in the middle of it. Weights were
 * chosen with the results of both in view, so neither tells how well queries do that nobody has seen.
 */
export function catalogQueries(file: 'queries' | 'later-queries' = 'queries'): CatalogQuery[] {
  return linesOf(file).map((line) => {
    const [query, right] = splitAt(line, ' | ');
    return { query, right: right.split(' ') };
  });
}

function toolOf(service: string, line: string, meanings: ReadonlyMap<string, string>): Tool {
  const [operation, rest] = splitAt(line, ': ');
  const [description, parameters] = splitAt(rest, ' |');
  const [required, optional] = splitAt(parameters, '/').map((side) =>
    (side.match(/\S+/g) ?? []).map((word) => parameterOf(word, meanings)),
  ) as [Parameter[], Parameter[]];
  const properties = Object.fromEntries([...required, ...optional].map(({ name, schema }) => [name, schema]));
  const names = required.map(({ name }) => name);
  return {
    name: `${service}_${operation}`,
    description,
    inputSchema: { type: 'object', properties, ...(names.length > 0 && { required: names }) },
  };
}

function parameterOf(word: string, meanings: ReadonlyMap<string, string>): Parameter {
  const name = word.replace(/[#?]$|\[\]$/, '');
  const type = word.endsWith('#') ? 'number' : word.endsWith('?') ? 'boolean' : 'string';
  const description = meanings.get(name);
  const plain = { type, ...(description !== undefined && { description }) };
  return { name, schema: word.endsWith('[]') ? { ...plain, type: 'array', items: { type } } : plain };
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}
