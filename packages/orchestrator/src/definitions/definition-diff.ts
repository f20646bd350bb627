import { type DefinitionDifference, isJsonObject } from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';

/** The room for the differences of one definition. Lengths are in characters. */
export interface DiffRoom {
  /** The most differences. */
  differences: number;
  /** The longest text of one side of a difference. */
  text: number;
  /** True if a definition with more differences is shown as a whole, so that nothing is left out. */
  isWholeBeyond?: boolean;
}

/** The characters of equal text that are shown before a difference. */
const context = 60;
/** The depth to which differences are listed separately; deeper values are compared as a whole. */
const maxDepth = 24;

/** The listed differences, and the number of the others. */
export interface DefinitionDiff {
  differences: DefinitionDifference[];
  more: number;
}

/**
 * Compares two definitions in JSON, field by field. `undefined` stands for a missing definition. In all texts, invisible characters are
 * written as escapes.
 */
export function definitionDiff(before: unknown, after: unknown, room: DiffRoom): DefinitionDiff {
  const all = [...differencesOf(before, after, [])];
  const isWhole = room.isWholeBeyond === true && all.length > room.differences;
  const found = isWhole ? [{ path: [], before, after }] : all;
  const differences = found
    .slice(0, isWhole ? 1 : room.differences)
    .map(({ path, before, after }) => differenceAt(path, before, after, room.text));
  return { differences, more: found.length - differences.length };
}

interface Found {
  path: string[];
  before: unknown;
  after: unknown;
}

function* differencesOf(before: unknown, after: unknown, path: string[]): Generator<Found> {
  const areObjects = isJsonObject(before) && isJsonObject(after);
  if (!areObjects || path.length === maxDepth) {
    if (textOf(before) !== textOf(after)) yield { path, before, after };
    return;
  }
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    yield* differencesOf(own(before, name), own(after, name), [...path, name]);
}

function own(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function differenceAt(
  path: readonly string[],
  before: unknown,
  after: unknown,
  most: number,
): DefinitionDifference {
  const [left, right] = [shown(before), shown(after)];
  const start = equalStart(left ?? '', right ?? '');
  const sides = [left, right].map((text) => (text === undefined ? undefined : excerpt(text, start, most)));
  const [one, other] = sides;
  return {
    path: visible(path.join('.')),
    what: visible(wordsOf(path)),
    ...(one && { before: one.text }),
    ...(other && { after: other.text }),
    ...((one?.isCut || other?.isCut) && { cut: true as const }),
  };
}

/** Shows a long text from shortly before the first difference on. */
function excerpt(text: string, start: number, most: number): { text: string; isCut: boolean } {
  if (text.length <= most) return { text, isCut: false };
  const from = Math.max(0, start - context);
  const part = text.slice(from, from + most);
  const before = from === 0 ? '' : `… (${from} characters before) `;
  const left = text.length - from - part.length;
  return { text: `${before}${part}${left === 0 ? '' : ` … (${left} characters more)`}`, isCut: true };
}

function equalStart(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one[at] === other[at]) at++;
  return at;
}

/** Returns a text unchanged, and other data as JSON; `undefined` for a missing value. */
function shown(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return visible(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

function textOf(value: unknown): string | undefined {
  return JSON.stringify(value);
}

const fields: Readonly<Record<string, string>> = {
  '': 'the definition',
  name: 'the name',
  title: 'the title',
  description: 'the description',
  annotations: 'the hints',
  inputSchema: 'the schema of the arguments',
  outputSchema: 'the schema of the result',
  'inputSchema.required': 'the arguments that must be given',
  arguments: 'the arguments',
};

/** Describes in words a path of a definition. */
function wordsOf(path: readonly string[]): string {
  const field = fields[path.join('.')];
  if (field !== undefined) return field;
  const [first, second, third, ...rest] = path;
  if (first === 'annotations' && second !== undefined) return `the hint ${path.slice(1).join('.')}`;
  const isArgument = first === 'inputSchema' && second === 'properties' && third !== undefined;
  if (!isArgument) return path.join('.');
  if (rest.length === 0) return `the argument ${third}`;
  return `${rest.join('.') === 'description' ? 'the description' : rest.join('.')} of the argument ${third}`;
}
