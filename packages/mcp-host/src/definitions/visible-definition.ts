import {
  isJsonObject,
  type Prompt,
  type Resource,
  type ResourceTemplate,
  type Tool,
} from '@signalbox/protocol';
import { visible } from '@signalbox/protocol/internal';

/** The keywords of a JSON Schema whose texts are only for readers: no value is compared with them. */
const readOnlyKeywords = new Set(['title', 'description', '$comment']);
/** The keywords whose values are schemas by name: the names are not keywords. */
const namedSchemas = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** The keywords whose values are data: names in them are not keywords. */
const dataKeywords = new Set(['enum', 'const', 'default', 'examples', 'required']);

/** Matches JSON in which no text has invisible characters. */
const plainJson = /^[ -~]*$/;

/**
 * Makes invisible characters visible in a tool's texts for readers, including those in its schemas. Values that arguments are compared with
 * stay unchanged: `hidden` says whether they have invisible characters. A tool without invisible characters is returned as the same object.
 */
export function visibleTool(tool: Tool): { tool: Tool; hidden: boolean } {
  const json = JSON.stringify(tool);
  if (isPlain(json)) return { tool, hidden: false };
  const { inputSchema, outputSchema, annotations } = tool;
  const shown: Tool = {
    ...withVisible(tool, ['title', 'description']),
    inputSchema: visibleSchema(inputSchema) as Tool['inputSchema'],
    ...(outputSchema && { outputSchema: visibleSchema(outputSchema) as Tool['outputSchema'] }),
    ...(annotations && { annotations: withVisible(annotations, ['title']) }),
  };
  const text = JSON.stringify(shown);
  const hidden = hasUnseen(shown.inputSchema) || hasUnseen(shown.outputSchema);
  return { tool: text === json ? tool : shown, hidden };
}

/** Makes invisible characters visible in a prompt's texts and in those of its arguments. */
export function visiblePrompt(prompt: Prompt): Prompt {
  if (isPlain(JSON.stringify(prompt))) return prompt;
  const shown = withVisible(prompt, ['title', 'description']);
  if (!prompt.arguments) return shown;
  return {
    ...shown,
    arguments: prompt.arguments.map((argument) => withVisible(argument, ['title', 'description'])),
  };
}

/** Makes invisible characters visible in the texts of a resource or a template. Its URI stays unchanged. */
export function visibleResource<Entry extends Resource | ResourceTemplate>(entry: Entry): Entry {
  return isPlain(JSON.stringify(entry)) ? entry : withVisible(entry, ['name', 'title', 'description']);
}

function isPlain(json: string): boolean {
  // JSON writes control characters and lone surrogates as escapes, which are plain.
  return plainJson.test(json) && !/\\(?:u00|ud|[rbf])/.test(json);
}

function withVisible<Value extends Record<string, unknown>>(value: Value, fields: readonly string[]): Value {
  const shown: Record<string, unknown> = { ...value };
  for (const field of fields) {
    const text = value[field];
    if (typeof text === 'string') shown[field] = visible(text);
  }
  return shown as Value;
}

/** Makes invisible characters visible in a schema's texts for readers. */
export function visibleSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(visibleSchema);
  if (!isJsonObject(schema)) return schema;
  const shown: [string, unknown][] = Object.entries(schema).map(([keyword, value]) => {
    if (readOnlyKeywords.has(keyword) && typeof value === 'string') return [keyword, visible(value)];
    if (dataKeywords.has(keyword)) return [keyword, value];
    if (namedSchemas.has(keyword) && isJsonObject(value)) {
      const inner = Object.entries(value).map(([name, one]) => [name, visibleSchema(one)] as const);
      return [keyword, Object.fromEntries(inner)];
    }
    return [keyword, visibleSchema(value)];
  });
  return Object.fromEntries(shown);
}

/** Tells whether a text or a field name in a value has invisible characters. */
function hasUnseen(value: unknown): boolean {
  if (typeof value === 'string') return visible(value) !== value;
  if (Array.isArray(value)) return value.some(hasUnseen);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => visible(name) !== name || hasUnseen(inner));
}
