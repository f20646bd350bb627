import { isDeepStrictEqual } from 'node:util';
import { isDeeperThan } from '@signalbox/protocol';
import { asObject, parseCommentedJson } from './commented-json.ts';
import type { WorkspaceEntry } from './injection.ts';

type Entry = Pick<WorkspaceEntry, 'keys' | 'value'>;
type Json = Record<string, unknown>;

/** The most levels of a file. No client's file nests deeper, and writing a deeper one could exhaust the stack. */
const maxDepth = 100;

/** Returns the text of a file with our entry in it; `undefined` if the text can't hold one. `text` is `undefined` if there is no file. */
export function withEntry(text: string | undefined, { keys, value }: Entry): string | undefined {
  const top = text === undefined || text.trim() === '' ? {} : objectIn(text);
  return top && textWith(top, keys, value);
}

/**
 * Returns the text of an edited file without our entry: the earlier value `before` is restored, and all other changes stay. An entry that
 * was edited also stays. Returns `undefined` if the text is not a JSON object.
 */
export function withoutEntry(text: string, { keys, value }: Entry, before?: string): string | undefined {
  const top = objectIn(text);
  if (top === undefined) return undefined;
  if (!isDeepStrictEqual(valueAt(top, keys), value)) return text;
  const old = before === undefined ? undefined : valueAt(objectIn(before), keys);
  return textWith(top, keys, old);
}

function objectIn(text: string): Json | undefined {
  try {
    const value = parseCommentedJson(text);
    return isDeeperThan(value, maxDepth) ? undefined : asObject(value);
  } catch {
    return undefined;
  }
}

function valueAt(top: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((value, key) => asObject(value)?.[key], top);
}

function textWith(top: Json, keys: readonly string[], value: unknown): string | undefined {
  const changed = withValue(top, keys, value);
  return changed && `${JSON.stringify(changed, undefined, 2)}\n`;
}

/** Returns a copy with the value at these keys, or without one; `undefined` if a value on the way is not an object. */
function withValue(object: Json, [key = '', ...deeper]: readonly string[], value: unknown): Json | undefined {
  if (deeper.length === 0) {
    const { [key]: _, ...rest } = object;
    return value === undefined ? rest : { ...object, [key]: value };
  }
  if (object[key] !== undefined && asObject(object[key]) === undefined) return undefined;
  const inner = withValue(asObject(object[key]) ?? {}, deeper, value);
  return inner && { ...object, [key]: inner };
}
