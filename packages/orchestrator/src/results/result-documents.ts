import { isDeeperThan, isJsonObject, keptResultUri, type McpResult, readJson } from '@signalbox/protocol';

/** The place of one content block in the JSON text of a result, in bytes. */
export type BlockPlace = readonly [block: number, at: number, length: number];

/** A result in its kept form: the text that a model reads of it, and the whole result. */
export interface ResultDocuments {
  /** The texts of the content blocks one after the other, a line about each block that is not text, and data that no text repeats. */
  text: Buffer;
  /** The whole result as JSON. */
  json: Buffer;
  /** The places in the JSON of the content blocks that are not text. If there are many, only the first ones. */
  blocks: BlockPlace[];
  /** The kinds of content, with the number of blocks of each. */
  kinds: Record<string, number>;
}

const maxBlocks = 256;
const maxKinds = 100;
/** Data that nests deeper, or is longer, stays on one line: the indentation of its lines could be far longer than the data. */
const linesDepth = 10;
const linesLength = 8 * 1024 * 1024;

/** Splits a result into its documents. `id` is the id under which it is kept. */
export function documentsOf(result: McpResult, id: string): ResultDocuments {
  const { content, ...rest } = result;
  const kinds = new Map<string, number>();
  const texts: string[] = [];
  const blocks: BlockPlace[] = [];
  const json: Buffer[] = [];
  let length = 0;
  /** The number of blocks that are not text, beyond the first ones. */
  let others = 0;
  const count = (kind: string): void => {
    const known = kinds.size < maxKinds || kinds.has(kind) ? kind : 'other';
    kinds.set(known, (kinds.get(known) ?? 0) + 1);
  };
  const write = (text: string): number => {
    const bytes = Buffer.from(text);
    json.push(bytes);
    length += bytes.length;
    return bytes.length;
  };
  write('{"content":[');
  for (const [at, block] of content.entries()) {
    if (at > 0) write(',');
    const begin = length;
    const bytes = write(JSON.stringify(block));
    count(kindOf(block));
    const text = textOf(block);
    if (text !== undefined) texts.push(text);
    else if (blocks.length < maxBlocks) {
      texts.push(lineAbout(block, { at, bytes, id }));
      blocks.push([at, begin, bytes]);
    } else others++;
  }
  const fields = JSON.stringify(rest);
  write(fields === '{}' ? ']}' : `],${fields.slice(1)}`);
  if (others > 0) texts.push(`[${others} more content blocks, which only the JSON of the result holds]`);
  const { structuredContent } = rest;
  if (structuredContent !== undefined) {
    count('structuredContent');
    const data = JSON.stringify(structuredContent);
    if (!texts.some((text) => isSameData(text, data)))
      texts.push('[structuredContent]', inLines(structuredContent, data));
  }
  return {
    text: Buffer.from(texts.join('\n')),
    json: Buffer.concat(json),
    blocks,
    kinds: Object.fromEntries(kinds),
  };
}

function textOf(block: McpResult['content'][number]): string | undefined {
  if (block.type === 'text' && typeof block.text === 'string') return block.text;
  const { resource } = block;
  if (block.type !== 'resource' || !isJsonObject(resource) || typeof resource.text !== 'string')
    return undefined;
  return `[resource ${String(resource.uri)}]\n${resource.text}`;
}

function kindOf(block: McpResult['content'][number]): string {
  const mimeType = isJsonObject(block.resource) ? block.resource.mimeType : block.mimeType;
  return typeof mimeType === 'string' ? `${block.type} ${mimeType}`.slice(0, 100) : block.type.slice(0, 100);
}

function lineAbout(
  block: McpResult['content'][number],
  { at, bytes, id }: { at: number; bytes: number; id: string },
): string {
  const uri = block.type === 'resource_link' && typeof block.uri === 'string' ? ` ${block.uri}` : '';
  const about = `${kindOf(block)}${uri}`.replace(/\s+/g, ' ');
  return `[content block ${at}: ${about}, ${bytes} bytes of JSON, at ${keptResultUri(id, at)}]`;
}

/** Tells whether a text is the JSON of some data. Its layout makes no difference. */
function isSameData(text: string, data: string): boolean {
  if (text.length < data.length || !/^\s*[[{]/.test(text)) return text === data;
  try {
    return JSON.stringify(readJson(text)) === data;
  } catch {
    return false;
  }
}

function inLines(value: unknown, data: string): string {
  return data.length > linesLength || isDeeperThan(value, linesDepth) ? data : JSON.stringify(value, null, 1);
}
