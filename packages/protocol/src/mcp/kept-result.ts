/**
 * The parts of a kept result that can be read: its text, its whole MCP result as JSON, and each content block that is not text, by its
 * place in `content`.
 */
export type KeptPart = 'text' | 'json' | number;

/** The most lines, bytes, matches and lines around a match that one read asks for, and the longest text that is searched for. */
export const keptRangeLimits = { lines: 10_000, bytes: 256 * 1024, matches: 200, context: 20, search: 256 };

/** The smallest `maxInlineBytes` of a role: no preview of a result is longer. */
export const leastInlineBytes = 8192;

/** A part of a text: from a byte on, from a line on (the first is 1), or the places where a text is found. */
export type KeptRange =
  | { by: 'bytes'; offset: number; bytes?: number }
  | { by: 'lines'; line: number; lines?: number }
  | {
      by: 'search';
      search: string;
      ignoreCase: boolean;
      /** Lines before and after each match. */
      context: number;
      matches: number;
      /** The byte from which the search begins. */
      offset: number;
    };

/** The part and the range that a URI of a kept result asks for. */
export interface KeptRead {
  id: string;
  part: KeptPart;
  range: KeptRange;
}

/** The fields of a range, by their names in the query of a URI and in the tool that reads results. */
export interface KeptRangeFields {
  offset?: number | undefined;
  bytes?: number | undefined;
  line?: number | undefined;
  lines?: number | undefined;
  search?: string | undefined;
  ignore_case?: boolean | undefined;
  context?: number | undefined;
  matches?: number | undefined;
}

/** The name of the tool by which agents read kept results. */
export const resultReadTool = 'signalbox_result_read';

/** The key in `_meta` under which a preview describes its result. */
export const keptResultMeta = 'signalbox/kept_result';

/** The key in `_meta` under which the answer to a read says which part of the text it is. */
export const keptRangeMeta = 'signalbox/range';

const resultUri = /^signalbox:\/\/result\/([A-Za-z0-9_-]{22})(?:\/(json)|\/content\/(\d{1,7}))?(?:\?(.*))?$/s;
const defaultContext = 2;
const defaultMatches = 20;

/** Makes the URI of a kept result, of a part of it, or of a range of that part. */
export function keptResultUri(id: string, part: KeptPart = 'text', fields: KeptRangeFields = {}): string {
  const path = part === 'text' ? '' : part === 'json' ? '/json' : `/content/${part}`;
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return `signalbox://result/${id}${path}${query === '' ? '' : `?${query}`}`;
}

/** Tells whether a URI is one of kept results. No URI of a server has this form, not even under the name of a server `result`. */
export function isKeptResultUri(uri: unknown): uri is string {
  return typeof uri === 'string' && resultUri.test(uri);
}

/** Reads a URI of {@link isKeptResultUri}, or returns the problem of its query. */
export function parseKeptResultUri(uri: string): KeptRead | { problem: string } {
  const [, id = '', json, block, query = ''] = resultUri.exec(uri) ?? [];
  const part = json !== undefined ? 'json' : block !== undefined ? Number(block) : 'text';
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    if (Object.hasOwn(fields, name)) return { problem: `'${name}' is given twice` };
    fields[name] = name === 'search' ? value : name === 'ignore_case' ? flagOf(value) : numberOf(value);
  }
  if (typeof part === 'number' && query !== '') return { problem: 'a content block is read as a whole' };
  const range = keptRange(fields);
  return 'problem' in range ? range : { id, part, range };
}

/** Makes a range from its fields, or returns their problem. */
export function keptRange(fields: Readonly<Record<string, unknown>>): KeptRange | { problem: string } {
  const { lines: mostLines, bytes: mostBytes, matches: mostMatches, context: mostContext } = keptRangeLimits;
  const most: Record<string, readonly [number, number]> = {
    offset: [0, Number.MAX_SAFE_INTEGER],
    bytes: [1, mostBytes],
    line: [1, Number.MAX_SAFE_INTEGER],
    lines: [1, mostLines],
    matches: [1, mostMatches],
    context: [0, mostContext],
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const problem = fieldProblem(name, value, most);
    if (problem !== undefined) return { problem };
  }
  const names = given.map(([name]) => name);
  const { offset = 0, line, lines, search } = fields as KeptRangeFields;
  const kind =
    search !== undefined ? 'search' : line !== undefined || lines !== undefined ? 'lines' : 'bytes';
  const stray = names.find((name) => !fieldsOf[kind].includes(name));
  if (stray !== undefined) return { problem: `'${stray}' does not go with ${fieldsOf[kind].join(', ')}` };
  const { bytes, ignore_case: ignoreCase = false, context, matches } = fields as KeptRangeFields;
  if (search !== undefined)
    return {
      by: 'search',
      ...{ search, ignoreCase, offset },
      ...{ context: context ?? defaultContext, matches: matches ?? defaultMatches },
    };
  if (kind === 'lines') return { by: 'lines', line: line ?? 1, ...(lines !== undefined && { lines }) };
  return { by: 'bytes', offset, ...(bytes !== undefined && { bytes }) };
}

const fieldsOf: Readonly<Record<KeptRange['by'], readonly string[]>> = {
  bytes: ['offset', 'bytes'],
  lines: ['line', 'lines'],
  search: ['search', 'ignore_case', 'context', 'matches', 'offset'],
};

function fieldProblem(
  name: string,
  value: unknown,
  most: Readonly<Record<string, readonly [number, number]>>,
): string | undefined {
  if (name === 'search') {
    const isText = typeof value === 'string' && value !== '' && !/[\r\n]/.test(value);
    if (isText && value.length <= keptRangeLimits.search) return undefined;
    return `'search' must be a text of 1 to ${keptRangeLimits.search} characters within one line`;
  }
  if (name === 'ignore_case')
    return typeof value === 'boolean' ? undefined : "'ignore_case' must be true or false";
  const bounds = Object.hasOwn(most, name) ? most[name] : undefined;
  if (!bounds) return `there is no '${name.slice(0, 64)}'`;
  const [least, greatest] = bounds;
  const fits = Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= greatest;
  return fits ? undefined : `'${name}' must be a whole number from ${least} to ${greatest}`;
}

function numberOf(text: string): number {
  return /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
}

function flagOf(text: string): unknown {
  return text === 'true' ? true : text === 'false' ? false : text;
}
