import { readJson } from '@signalbox/protocol';

/** The number of tools that a search returns by default. */
export const defaultHits = 5;
/** The most tools that a search may return. */
export const maxHits = 20;

/** Arguments as their tool needs them, or the problem with them: the field, and how to write it. */
export type Arguments<T> = { value: T; problem?: undefined } | { problem: string; value?: undefined };

/** Reads the arguments of `search_tools`, an object or the JSON text of one. */
export function readSearchArguments(given: unknown): Arguments<{ query: string; limit: number }> {
  const fields = objectOf(given);
  if (!fields) return { problem: 'the arguments are no object; write {"query": "words"}' };
  const { query, limit = defaultHits } = fields;
  if (typeof query !== 'string' || query.trim() === '') {
    return { problem: "'query' must be a text that is not empty: what the tool should do, in a few words" };
  }
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > maxHits) {
    return {
      problem: `'limit' must be a whole number from 1 to ${maxHits}; leave it out for ${defaultHits}`,
    };
  }
  return { value: { query, limit } };
}

/** Reads the arguments of `call_tool`. The inner ones are left to the tool. */
export function readCallArguments(given: unknown): Arguments<{ name: string; arguments: unknown }> {
  const fields = objectOf(given);
  if (typeof fields?.name !== 'string' || fields.name === '') {
    return { problem: "'name' must be the name of a tool, exactly as search_tools gives it" };
  }
  const stray = Object.keys(fields).find((field) => field !== 'name' && field !== 'arguments');
  if (stray !== undefined) {
    return {
      problem: `there is no '${stray}' beside 'name'; the tool's own arguments belong in 'arguments'`,
    };
  }
  return { value: { name: fields.name, arguments: fields.arguments } };
}

function objectOf(given: unknown): Record<string, unknown> | undefined {
  const value = typeof given === 'string' ? parsed(given) : given;
  const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}

function parsed(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}
