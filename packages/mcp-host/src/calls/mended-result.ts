import { isInputRequired, isJsonObject, type McpContentMethod, resourceSchema } from '@signalbox/protocol';
import { annotationsSchema, optionalMeta, optionalText } from '@signalbox/protocol/internal';
import { z } from 'zod';
import { mended } from '../inventory/mending.ts';

type Result = Record<string, unknown>;

const blockFields = { annotations: annotationsSchema.optional(), _meta: optionalMeta };
const contentsSchema = z.looseObject({
  uri: z.string(),
  mimeType: optionalText,
  text: optionalText,
  blob: optionalText,
  _meta: optionalMeta,
});
const mediaSchema = z.looseObject({ data: z.string(), mimeType: z.string(), ...blockFields });

/** The schemas of the blocks of content whose types clients know, by type. */
const blockSchemas: Readonly<Record<string, z.ZodType>> = {
  text: z.looseObject({ text: z.string(), ...blockFields }),
  image: mediaSchema,
  audio: mediaSchema,
  resource_link: resourceSchema,
  resource: z.looseObject({ resource: contentsSchema, ...blockFields }),
};
const resultSchema = z.looseObject({ isError: z.boolean().optional(), _meta: optionalMeta });
const promptResultSchema = z.looseObject({ description: optionalText, _meta: optionalMeta });
const completionSchema = z.looseObject({
  completion: z.looseObject({
    values: z.array(z.string()),
    total: z.int().optional(),
    hasMore: z.boolean().optional(),
  }),
  _meta: optionalMeta,
});

/**
 * Returns a result in a form that clients accept, where they would refuse it as its server sent it and another form means the same. A
 * result that needs no mending is the same object. Blocks of types that clients don't know stay as they are.
 */
export function mendedResult(method: McpContentMethod | undefined, result: Result): Result {
  if (isInputRequired(result)) return result;
  switch (method) {
    case undefined:
      return isPlain(result) ? result : mendedToolResult(result);
    case 'prompts/get':
      return withList(fitted(promptResultSchema, result), 'messages', (list) => list.flatMap(mendedMessages));
    case 'resources/read':
      return withList(fitted(resultSchema, result), 'contents', (list) =>
        list.map((contents) => fitted(contentsSchema, contents)),
      );
    case 'completion/complete':
      return fitted(completionSchema, result);
  }
}

/** Tells at little cost that a result needs no mending, which is true of nearly all. */
function isPlain({ content, isError, _meta }: Result): boolean {
  if (isError !== undefined && typeof isError !== 'boolean') return false;
  if (_meta !== undefined && !isJsonObject(_meta)) return false;
  if (!Array.isArray(content)) return false;
  for (const block of content) if (!isPlainText(block)) return false;
  return true;
}

function isPlainText(block: unknown): boolean {
  if (!isJsonObject(block) || block.type !== 'text' || typeof block.text !== 'string') return false;
  return block.annotations === undefined && block._meta === undefined;
}

function mendedToolResult(result: Result): Result {
  const { isError, content } = result;
  // An error must not become a success because its flag has another type.
  const isFailure = isError !== undefined && typeof isError !== 'boolean' && isError !== 'false' && !!isError;
  const flagged = isFailure ? { ...result, isError: true } : result;
  const listed = typeof content === 'string' || isJsonObject(content) ? [content] : content;
  const whole = listed === content ? flagged : { ...flagged, content: listed };
  return withList(fitted(resultSchema, whole), 'content', (list) => list.map(mendedBlock));
}

/** Splits a message with several blocks into messages of one block each, which is all that clients know. */
function mendedMessages(message: unknown): unknown[] {
  if (!isJsonObject(message)) return [message];
  const { content } = message;
  if (Array.isArray(content))
    return content.flatMap((block) => mendedMessages({ ...message, content: block }));
  const block = mendedBlock(content);
  return [block === content ? message : { ...message, content: block }];
}

/** Returns a block that clients accept. Text that is no block becomes one, and so does a block that lacks something. */
function mendedBlock(block: unknown): unknown {
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isJsonObject(block) || typeof block.type !== 'string') return asText(block);
  const schema = Object.hasOwn(blockSchemas, block.type) ? blockSchemas[block.type] : undefined;
  if (!schema) return block;
  const fit = mended(schema, block);
  if ('problem' in fit) return asText(block);
  const { resource } = fit.value as Result;
  const lacksContent =
    block.type === 'resource' && isJsonObject(resource) && !('text' in resource) && !('blob' in resource);
  return lacksContent ? asText(block) : fit.value;
}

function asText(block: unknown): unknown {
  return { type: 'text', text: JSON.stringify(block) };
}

/** Returns what a schema accepts of a value; the value itself if that is impossible. */
function fitted<Value>(schema: z.ZodType, value: Value): Value {
  const fit = mended(schema, value);
  return 'value' in fit ? (fit.value as Value) : value;
}

/** Mends the entries of a list of a result. A single entry in the place of the list becomes a list. */
function withList(result: Result, field: string, mendedList: (list: unknown[]) => unknown[]): Result {
  const value = result[field];
  const list = isJsonObject(value) ? [value] : value;
  if (!Array.isArray(list)) return result;
  const entries = mendedList(list);
  const isSame =
    list === value && entries.length === list.length && entries.every((entry, i) => entry === list[i]);
  return isSame ? result : { ...result, [field]: entries };
}
