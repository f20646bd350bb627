import { isDeeperThan, isExactNumber } from '@signalbox/protocol';

/** The deepest level that {@link withTexts} reads. No reply nests nearly as deep, and data that did could exhaust the stack. */
export const deepestLevel = 1000;

/**
 * Returns JSON data in which `change` has replaced every text, including names of fields. Values below 1000 levels become `null`. Unchanged
 * data is returned as the same object.
 */
export function withTexts<T>(data: T, change: (text: string) => string): T {
  return changed(data, change, deepestLevel) as T;
}

function changed(value: unknown, change: (text: string) => string, levels: number): unknown {
  if (typeof value === 'string') return change(value);
  if (value === null || typeof value !== 'object') return value;
  if (isExactNumber(value)) {
    const digits = change(value.rawJSON);
    return digits === value.rawJSON ? value : digits;
  }
  if (levels === 0) return null;
  if (Array.isArray(value)) {
    const items = value.map((item) => changed(item, change, levels - 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const fields = Object.entries(value);
  const after = fields.map(([name, item]): [string, unknown] => [
    change(name),
    changed(item, change, levels - 1),
  ]);
  const isSame = after.every(([name, item], at) => name === fields[at]![0] && item === fields[at]![1]);
  return isSame ? value : Object.fromEntries(withDistinctNames(after));
}

/** Numbers names that have become the same, so that no field hides another one. */
function withDistinctNames(fields: readonly [string, unknown][]): [string, unknown][] {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return fields.map(([name, item]) => {
    let free = name;
    for (let number = numbers.get(name) ?? 2; taken.has(free); number++) {
      free = `${name} ${number}`;
      numbers.set(name, number + 1);
    }
    taken.add(free);
    return [free, item];
  });
}

const maxDataBytes = 16_384;
const maxDataDepth = 24;

/** Passes every text in JSON data through `redact`. Returns `undefined` for data above 16 KiB or deeper than 24 levels. */
export function redactedData(data: unknown, redact: (text: string) => string): unknown {
  if (isDeeperThan(data, maxDataDepth)) return undefined;
  const clean = withTexts(data, redact);
  const text = JSON.stringify(clean);
  return text !== undefined && Buffer.byteLength(text) <= maxDataBytes ? clean : undefined;
}
