import { isJsonObject, keptRangeMeta, parseKeptResultUri } from '@signalbox/protocol';
import type { ToolResult } from '../tools/tool-result.ts';

/** Shows a model the answer to a read of a kept result: which part it is, with line numbers, and how to read the next part. */
export function shownPart({ contents, _meta: meta }: Record<string, unknown>): ToolResult['content'] {
  const [first] = Array.isArray(contents) ? contents.filter(isJsonObject) : [];
  if (!first) return [{ type: 'text', text: 'The result has no such part.' }];
  const range = isJsonObject(meta) ? meta[keptRangeMeta] : undefined;
  if (typeof first.text !== 'string' || !isJsonObject(range)) return [blockOf(first)];
  const next = typeof range.next === 'string' ? nextText(range.next) : undefined;
  if (range.matches !== undefined) {
    const more = next === undefined ? '' : ` There may be more: search again with ${next}.`;
    return [{ type: 'text', text: `${matchesText(range)}${more}\n${first.text}` }];
  }
  const { line, last_line: last, lines, offset, end, bytes } = range as Record<string, number>;
  const where = `Lines ${line} to ${last} of ${lines}, bytes ${offset} to ${end} of ${bytes}.`;
  const rest = next === undefined ? ' This is the end.' : ` The rest begins with ${next}.`;
  const read = typeof first.uri === 'string' ? parseKeptResultUri(first.uri) : undefined;
  const isByLines = read !== undefined && 'range' in read && read.range.by === 'lines';
  const text = isByLines ? numbered(first.text, line ?? 1) : first.text;
  return [{ type: 'text', text: `${where}${rest}\n${text}` }];
}

function matchesText({ matches, lines }: Record<string, unknown>): string {
  return `${matches === 1 ? '1 match' : `${matches} matches`} in a text of ${lines} lines; > marks them.`;
}

/** Returns the argument with which the next part is read. */
function nextText(uri: string): string | undefined {
  const read = parseKeptResultUri(uri);
  if ('problem' in read) return undefined;
  const { range } = read;
  return range.by === 'lines' ? `line: ${range.line}` : `offset: ${range.offset}`;
}

function numbered(text: string, from: number): string {
  if (text === '') return '';
  const lines = text.split('\n');
  if (text.endsWith('\n')) lines.pop();
  return lines.map((line, at) => `${from + at}\t${line}`).join('\n');
}

/** Makes a content block of contents that are not text. */
function blockOf(contents: Record<string, unknown>): ToolResult['content'][number] {
  const { blob: data, mimeType } = contents;
  const kind = typeof mimeType === 'string' ? /^(image|audio)\//.exec(mimeType)?.[1] : undefined;
  if (typeof data === 'string' && kind !== undefined) return { type: kind, data, mimeType };
  return { type: 'resource', resource: contents };
}
