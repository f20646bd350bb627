import { isJsonObject } from '@signalbox/protocol';
import { visibleLine } from '@signalbox/protocol/internal';
import type { z } from 'zod';

/** A value that fits its schema, with the places where it differs from what was sent; or the reason why there is none. */
export type Mended<Value> = { value: Value; changed: readonly string[] } | { problem: string };

type Path = readonly PropertyKey[];

/**
 * Makes a value fit its schema. What does not fit is left out, up to the nearest optional part: a field, or an entry of a list. A single
 * text or object in the place of a list becomes a list. A field of `whole` is never left out in part. A value that fits is returned as it
 * is, not as a copy: its fields stay as they are, in their order.
 */
export function mended<Value>(
  schema: z.ZodType<Value>,
  sent: unknown,
  { whole, changed = [] }: { whole?: string; changed?: readonly string[] } = {},
): Mended<Value> {
  const places = new Set(changed);
  const first = new Map<PropertyKey | undefined, string>();
  let value = sent;
  for (;;) {
    const { error } = schema.safeParse(value);
    if (!error) return { value: value as Value, changed: [...places] };
    if (value === sent) value = copyOf(sent);
    const thinned = new Set<unknown[]>();
    for (const issue of error.issues) {
      const [field] = issue.path;
      const message = `${issue.path.join('.') || 'it'}: ${issue.message}`;
      if (!first.has(field)) first.set(field, message);
      const path = presentPart(value, issue.path);
      const isLost = path.length === 0 || (field === whole && path.length < 3 && at(value, path) !== null);
      if (isLost) return { problem: first.get(field)! };
      places.add(path.join('.'));
      mend(value, path, issue, thinned);
    }
    for (const list of thinned) closeGaps(list);
  }
}

/** Describes the places in which a definition was mended, for its operator. */
export function mendedMessage(changed: readonly string[]): string {
  const shown = changed.slice(0, 3).map((place) => visibleLine(place).slice(0, 128));
  const more = changed.length > shown.length ? ` and ${changed.length - shown.length} more places` : '';
  return `mended, because clients would refuse it as its server sent it: ${shown.join(', ')}${more}`;
}

/** Copies JSON data. A structured clone of an `ExactNumber` would be no number any more. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copyOf(inner)]));
}

/** Returns the path of the innermost part that is there: where something is missing, that is the part which lacks it. */
function presentPart(value: unknown, path: Path): Path {
  let present = path;
  while (present.length > 0 && at(value, present) === undefined) present = present.slice(0, -1);
  return present;
}

function at(value: unknown, path: Path): unknown {
  let inner = value;
  for (const key of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = (inner as Record<PropertyKey, unknown>)[key];
  }
  return inner;
}

function mend(value: unknown, path: Path, issue: z.core.$ZodIssue, thinned: Set<unknown[]>): void {
  const parent = at(value, path.slice(0, -1)) as Record<PropertyKey, unknown>;
  const key = path.at(-1)!;
  const listed =
    issue.code === 'invalid_type' && issue.expected === 'array' ? asList(parent[key]) : undefined;
  if (listed) parent[key] = listed;
  else delete parent[key];
  if (Array.isArray(parent)) thinned.add(parent);
}

function asList(value: unknown): unknown[] | undefined {
  if (typeof value === 'string') return value.split(/\s+/).filter(Boolean);
  return isJsonObject(value) ? [value] : undefined;
}

function closeGaps(list: unknown[]): void {
  let length = 0;
  // Entries that were deleted are passed over.
  list.forEach((entry) => {
    list[length++] = entry;
  });
  list.length = length;
}
