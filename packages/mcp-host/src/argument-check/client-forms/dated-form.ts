import { isJsonObject } from '@signalbox/protocol';
import type { FoundForm } from './found-form.ts';

/** Keywords without which a schema refuses values that it accepts. draft-07 does not know them. */
const laterKeywords = ['prefixItems', 'minContains'];

/**
 * Finds the form of a schema that names its dialect. gemini 0.61 and qwen 0.24 check arguments themselves, and read a schema without
 * `$schema` as one of draft-07. MCP means 2020-12 then.
 */
export function datedForm(schema: Record<string, unknown>): FoundForm {
  if (schema.$schema !== undefined || !hasLater(schema)) return {};
  return { form: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema } };
}

function hasLater(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasLater);
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).some(([key, value]) => laterKeywords.includes(key) || hasLater(value));
}
